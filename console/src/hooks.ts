// Hooks that load data for pages.

import { useEffect, useRef, useState } from "preact/hooks";
import {
  CallError,
  type Method,
  backoffSeconds,
  call,
  canStream,
  connection,
  connectionEpoch,
  stream,
} from "./api";

export interface Loaded<T> {
  // The newest answer. Stays while the next one is loading, and if that fails.
  data: T | undefined;
  error: CallError | undefined;
  loading: boolean;
}

function toError(error: unknown): CallError {
  return error instanceof CallError ? error : new CallError("internal", String(error));
}

function hidden(): boolean {
  return typeof document !== "undefined" && document.visibilityState === "hidden";
}

// Calls a method whenever the request changes, and every `everySeconds` while the tab is visible.
// A request that is undefined calls nothing.
export function useCall<Request, Response>(
  called: Method<Request, Response>,
  request: Request | undefined,
  everySeconds = 0,
): Loaded<Response> {
  const key = request === undefined ? undefined : JSON.stringify(request);
  const [state, setState] = useState<Loaded<Response> & { key: string | undefined }>({
    data: undefined,
    error: undefined,
    loading: key !== undefined,
    key,
  });
  const epoch = connectionEpoch.value;

  useEffect(() => {
    if (request === undefined) return undefined;
    const abort = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let failures = 0;
    let running = false;
    let lastStart = 0;

    const load = async (): Promise<void> => {
      clearTimeout(timer);
      if (running) return;
      running = true;
      lastStart = Date.now();
      let wait = everySeconds;
      try {
        const data = await call(called, request, abort.signal);
        failures = 0;
        setState({ data, error: undefined, loading: false, key });
      } catch (error) {
        if (abort.signal.aborted) return;
        const failure = toError(error);
        setState((old) => ({
          data: old.key === key ? old.data : undefined,
          error: failure,
          loading: false,
          key,
        }));
        // While the coordinator does not answer, `connectionEpoch` starts the next call.
        if (failure.transient && failure.status !== 0) {
          wait = Math.max(backoffSeconds(failures), failure.retryAfterSeconds, everySeconds);
          failures += 1;
        }
      } finally {
        running = false;
      }
      if (wait > 0 && !hidden()) timer = setTimeout(() => void load(), wait * 1000);
    };
    const onVisible = (): void => {
      if (everySeconds <= 0) return;
      clearTimeout(timer);
      if (hidden()) return;
      const due = Math.max(0, lastStart + everySeconds * 1000 - Date.now());
      timer = setTimeout(() => void load(), due);
    };

    setState((old) => ({ ...old, loading: true }));
    void load();
    document.addEventListener("visibilitychange", onVisible);
    return () => {
      abort.abort();
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", onVisible);
    };
  }, [called, key, everySeconds, epoch]);

  return state.key === key ? state : { ...state, error: undefined, loading: key !== undefined };
}

// Calls `onMessage` with the messages of a stream, which is closed while the tab is hidden and
// opened again when it breaks. `onRestart` runs before the first message of each attempt. While the
// coordinator has no stream to spare, calls `poll` every `pollSeconds` instead. Returns the error
// that the next attempt will not cure.
export function useLive<Request, Response>(
  called: Method<Request, Response>,
  request: Request | undefined,
  handlers: {
    onRestart: () => void;
    onMessage: (message: Response) => void;
    poll?: (signal: AbortSignal) => Promise<void>;
    pollSeconds?: number;
    // True if a stream that ended without an error is opened again.
    reopen?: boolean;
  },
): CallError | undefined {
  const key = request === undefined ? undefined : JSON.stringify(request);
  const [failure, setFailure] = useState<CallError | undefined>(undefined);
  const latest = useRef(handlers);
  latest.current = handlers;
  const epoch = connectionEpoch.value;

  useEffect(() => {
    setFailure(undefined);
    if (request === undefined) return undefined;
    let closed = false;
    let abort = new AbortController();
    let wake: (() => void) | undefined;

    // Waits, but not longer than until the tab becomes visible or the page closes.
    const pause = (seconds: number): Promise<void> =>
      new Promise((resolve) => {
        const timer = setTimeout(resolve, seconds * 1000);
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    const poll = async (): Promise<void> => {
      await latest.current.poll?.(abort.signal);
      setFailure(undefined);
    };

    const follow = async (): Promise<void> => {
      let attempt = 0;
      while (!closed) {
        if (hidden()) {
          await pause(3600);
          continue;
        }
        abort = new AbortController();
        try {
          if (!canStream()) {
            await poll();
            return;
          }
          let first = true;
          await stream(
            called,
            request,
            (message) => {
              if (abort.signal.aborted) return;
              if (first) latest.current.onRestart();
              first = false;
              attempt = 0;
              setFailure(undefined);
              latest.current.onMessage(message);
            },
            abort.signal,
          );
          if (latest.current.reopen === false) return;
          await pause(backoffSeconds(attempt));
          attempt += 1;
        } catch (error) {
          if (closed) return;
          if (abort.signal.aborted) continue;
          const reason = toError(error);
          if (!reason.transient && reason.code !== "internal") {
            setFailure(reason);
            return;
          }
          const refused = reason.code === "resource_exhausted";
          if (refused || reason.status === 503 || reason.status === 429) {
            // No stream is free. Ask now and then, and try to get a stream each time.
            try {
              await poll();
            } catch (pollError) {
              if (!closed && !abort.signal.aborted) setFailure(toError(pollError));
            }
            await pause(Math.max(latest.current.pollSeconds ?? 15, reason.retryAfterSeconds));
          } else if (connection.value === "down") {
            // `connectionEpoch` starts the next attempt.
            return;
          } else {
            await pause(backoffSeconds(attempt));
            attempt += 1;
          }
        }
      }
    };
    const onVisibility = (): void => {
      if (hidden()) abort.abort();
      else wake?.();
    };

    void follow();
    document.addEventListener("visibilitychange", onVisibility);
    return () => {
      closed = true;
      abort.abort();
      wake?.();
      document.removeEventListener("visibilitychange", onVisibility);
    };
  }, [called, key, epoch]);

  return failure;
}

// Runs `onKey` for keys that are pressed outside of text fields.
export function useKeys(onKey: (event: KeyboardEvent) => void): void {
  const latest = useRef(onKey);
  latest.current = onKey;
  useEffect(() => {
    const listener = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      const target = event.target as HTMLElement | null;
      if (target?.closest("input, textarea, select, [contenteditable]")) return;
      latest.current(event);
    };
    document.addEventListener("keydown", listener);
    return () => document.removeEventListener("keydown", listener);
  }, []);
}
