// Calls of the coordinator with the Connect protocol: JSON over HTTP/1.1.
// See docs/reference/api.md.

import { signal } from "@preact/signals";

export class CallError extends Error {
  constructor(
    // Connect's name of a gRPC status code, such as "not_found". "unavailable" too if the
    // coordinator does not answer.
    readonly code: string,
    message: string,
    // 0 if there was no answer.
    readonly status = 0,
    // From the header Retry-After. 0 if there was none.
    readonly retryAfterSeconds = 0,
  ) {
    super(message);
    this.name = "CallError";
  }

  // True if the same call may succeed later.
  get transient(): boolean {
    return this.status === 0 || this.code === "unavailable" || this.code === "resource_exhausted";
  }
}

export interface Method<Request, Response> {
  service: string;
  name: string;
  // Never set: these two carry the types only.
  request?: Request;
  response?: Response;
}

export function method<Request, Response>(
  service: string,
  name: string,
): Method<Request, Response> {
  return { service, name };
}

// The way in which calls are made. The report replaces it with the data in its file.
export interface Transport {
  call(method: Method<unknown, unknown>, request: unknown, signal?: AbortSignal): Promise<unknown>;
  // Calls `onMessage` with each message. Ends when the server ends the stream.
  stream?(
    method: Method<unknown, unknown>,
    request: unknown,
    onMessage: (message: unknown) => void,
    signal: AbortSignal,
  ): Promise<void>;
}

// "signed-out": the coordinator asks for a token. "down": it does not answer.
export type Connection = "up" | "down" | "signed-out";
export const connection = signal<Connection>("up");
// Grows when the coordinator answers again. Pages then load their data anew.
export const connectionEpoch = signal(0);

const CODES: Record<number, string> = {
  400: "invalid_argument",
  401: "unauthenticated",
  403: "permission_denied",
  404: "not_found",
  413: "resource_exhausted",
  429: "unavailable",
  502: "unavailable",
  503: "unavailable",
  504: "unavailable",
};

interface WireError {
  code?: string;
  message?: string;
}

function toCallError(error: WireError | undefined, status: number, retryAfter = 0): CallError {
  const code = error?.code ?? CODES[status] ?? "unknown";
  return new CallError(code, error?.message ?? `HTTP status ${status}`, status, retryAfter);
}

async function readError(response: Response): Promise<CallError> {
  let body: WireError | undefined;
  try {
    body = (await response.json()) as WireError;
  } catch {
    // The answer of a proxy, which is not JSON.
  }
  const retryAfter = Number(response.headers.get("Retry-After"));
  const error = toCallError(body, response.status, Number.isFinite(retryAfter) ? retryAfter : 0);
  if (response.status === 401) connection.value = "signed-out";
  // A proxy answers for a coordinator that is gone.
  if (!body && response.status >= 502 && response.status <= 504 && !error.retryAfterSeconds) {
    markDown();
  }
  return error;
}

async function post(
  called: Method<unknown, unknown>,
  type: string,
  body: string | Uint8Array<ArrayBuffer>,
  signal?: AbortSignal,
): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(`/assay.v1.${called.service}/${called.name}`, {
      method: "POST",
      // The second is of streams alone.
      headers: { "Content-Type": type, "Connect-Accept-Encoding": "gzip" },
      body,
      signal: signal ?? null,
      credentials: "same-origin",
      cache: "no-store",
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    markDown();
    throw new CallError("unavailable", "the coordinator does not answer");
  }
  if (!response.ok) throw await readError(response);
  markUp();
  return response;
}

const FLAG_COMPRESSED = 1;
const FLAG_END = 2;

export interface Envelope {
  flags: number;
  data: Uint8Array;
}

// Splits the bytes of a stream into envelopes: 1 byte of flags, 4 bytes of big-endian length, data.
export class EnvelopeParser {
  private buffer = new Uint8Array(0);

  constructor(private readonly maxLength = 64 * 1024 * 1024) {}

  // Adds bytes and returns the envelopes that are complete.
  push(chunk: Uint8Array): Envelope[] {
    const joined = new Uint8Array(this.buffer.length + chunk.length);
    joined.set(this.buffer);
    joined.set(chunk, this.buffer.length);
    const envelopes: Envelope[] = [];
    let start = 0;
    while (joined.length - start >= 5) {
      const length = new DataView(joined.buffer, start + 1, 4).getUint32(0);
      if (length > this.maxLength) {
        throw new CallError("resource_exhausted", `message of ${length} bytes in a stream`);
      }
      if (joined.length - start - 5 < length) break;
      envelopes.push({
        flags: joined[start]!,
        data: joined.subarray(start + 5, start + 5 + length),
      });
      start += 5 + length;
    }
    this.buffer = joined.slice(start);
    return envelopes;
  }

  // True if bytes of an incomplete envelope are left.
  get pending(): boolean {
    return this.buffer.length > 0;
  }
}

export function toEnvelope(message: unknown): Uint8Array<ArrayBuffer> {
  const data = new TextEncoder().encode(JSON.stringify(message));
  const bytes = new Uint8Array(5 + data.length);
  new DataView(bytes.buffer).setUint32(1, data.length);
  bytes.set(data, 5);
  return bytes;
}

async function gunzip(data: Uint8Array): Promise<Uint8Array> {
  const stream = new Blob([data.slice()]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// Reads one stream to its end. Throws if it ends with an error or without an end.
export async function readStream(
  body: ReadableStream<Uint8Array>,
  onMessage: (message: unknown) => void,
): Promise<void> {
  const reader = body.getReader();
  const parser = new EnvelopeParser();
  const decoder = new TextDecoder();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) throw new CallError("unavailable", "the stream broke off");
    for (const { flags, data } of parser.push(value)) {
      const plain = flags & FLAG_COMPRESSED ? await gunzip(data) : data;
      const message: unknown = JSON.parse(decoder.decode(plain) || "{}");
      if (!(flags & FLAG_END)) {
        onMessage(message);
        continue;
      }
      const { error } = message as { error?: WireError };
      if (error) throw toCallError(error, 200);
      return;
    }
  }
}

const httpTransport: Transport = {
  async call(called, request, signal) {
    const response = await post(called, "application/json", JSON.stringify(request), signal);
    return response.json();
  },
  async stream(called, request, onMessage, signal) {
    const body = toEnvelope(request);
    const response = await post(called, "application/connect+json", body, signal);
    if (!response.body) throw new CallError("internal", "the answer has no body");
    try {
      await readStream(response.body, onMessage);
    } catch (error) {
      if (error instanceof CallError || signal.aborted) throw error;
      // The connection broke while a message was read.
      throw new CallError("unavailable", "the stream broke off");
    }
  },
};

let transport: Transport = httpTransport;

export function setTransport(other: Transport): void {
  transport = other;
}

export function canStream(): boolean {
  return transport.stream !== undefined;
}

export function call<Request, Response>(
  called: Method<Request, Response>,
  request: Request,
  signal?: AbortSignal,
): Promise<Response> {
  return transport.call(called, request, signal) as Promise<Response>;
}

export function stream<Request, Response>(
  called: Method<Request, Response>,
  request: Request,
  onMessage: (message: Response) => void,
  signal: AbortSignal,
): Promise<void> {
  if (!transport.stream) return Promise.reject(new CallError("unimplemented", "no streams"));
  return transport.stream(called, request, onMessage as (message: unknown) => void, signal);
}

// Seconds until attempt `attempt` (from 0): 1, 2, 4 and so on up to 30.
export function backoffSeconds(attempt: number): number {
  return Math.min(30, 2 ** Math.min(attempt, 5));
}

let probing = false;

function markUp(): void {
  if (connection.value === "up") return;
  connection.value = "up";
  connectionEpoch.value += 1;
}

// Remembers that the coordinator does not answer, and asks until it does.
function markDown(): void {
  if (connection.value === "signed-out") return;
  connection.value = "down";
  if (probing) return;
  probing = true;
  void probe();
}

async function probe(): Promise<void> {
  for (let attempt = 0; connection.value === "down"; attempt += 1) {
    await new Promise((resolve) => setTimeout(resolve, 1000 * backoffSeconds(attempt)));
    try {
      const response = await fetch("/info", { cache: "no-store", credentials: "same-origin" });
      if (response.status === 401) connection.value = "signed-out";
      else if (response.ok) markUp();
    } catch {
      // Still no answer.
    }
  }
  probing = false;
}

export interface Info {
  version: string;
}

export async function fetchInfo(): Promise<Info | undefined> {
  try {
    const response = await fetch("/info", { cache: "no-store", credentials: "same-origin" });
    if (response.status === 401) connection.value = "signed-out";
    return response.ok ? ((await response.json()) as Info) : undefined;
  } catch {
    markDown();
    return undefined;
  }
}

// Exchanges the token for a cookie. Throws a CallError if the token is wrong.
export async function logIn(token: string): Promise<void> {
  let response: Response;
  try {
    response = await fetch("/login", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ token }),
      credentials: "same-origin",
      cache: "no-store",
    });
  } catch {
    throw new CallError("unavailable", "the coordinator does not answer");
  }
  if (!response.ok) throw toCallError(undefined, response.status);
  connection.value = "up";
  connectionEpoch.value += 1;
}
