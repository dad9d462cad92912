// Small parts of pages.

import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { CallError } from "../api";
import { age, localTime, NOT_MEASURED, num, quantity, reading, utcTime } from "../format";
import { MARKS } from "../marks";

// A time of an event: local, with UTC as its title.
export function Time({ at }: { at: string | undefined }): JSX.Element {
  const text = localTime(at);
  if (!text) return <span class="muted">unknown</span>;
  return (
    <time dateTime={at} title={utcTime(at)}>
      {text}
    </time>
  );
}

// The time since an event, with local time and UTC as its title. Counts on by itself.
export function Age({ at }: { at: string | undefined }): JSX.Element {
  const [, setTick] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => setTick((tick) => tick + 1), 10_000);
    return () => clearInterval(timer);
  }, []);
  if (!localTime(at)) return <span class="muted">never</span>;
  return (
    <time dateTime={at} title={`${localTime(at)} (${utcTime(at)})`}>
      {age(at)}
    </time>
  );
}

export function NotMeasured({ why }: { why?: string }): JSX.Element {
  return (
    <span class="muted" title={why}>
      {NOT_MEASURED}
    </span>
  );
}

// A value with its unit, or "not measured".
export function Value({
  of,
  unit,
}: {
  of: number | string | undefined;
  unit: string;
}): JSX.Element {
  return num(of) === undefined ? <NotMeasured /> : <span class="num">{quantity(of, unit)}</span>;
}

// A reading with its unit, or "not measured".
export function Reading(props: { of: number | string | undefined; unit?: string }): JSX.Element {
  if (num(props.of) === undefined) return <NotMeasured />;
  return <span class="num">{reading(props.of, props.unit)}</span>;
}

export type Tone = "plain" | "good" | "warn" | "bad" | "accent";

export function Badge(props: {
  tone?: Tone;
  title?: string;
  children: ComponentChildren;
}): JSX.Element {
  return (
    <span class={`badge ${props.tone ?? "plain"}`} title={props.title}>
      {props.children}
    </span>
  );
}

// The flags of a result, as words that explain themselves on hover.
export function Flags({ of }: { of: readonly string[] | undefined }): JSX.Element | null {
  if (!of || of.length === 0) return null;
  return (
    <span class="badges">
      {of.map((flag) => (
        <Badge key={flag} tone="warn" title={MARKS[flag]?.text}>
          {flag.replaceAll("_", " ")}
        </Badge>
      ))}
    </span>
  );
}

export function Empty(props: { title: string; children?: ComponentChildren }): JSX.Element {
  return (
    <div class="empty">
      <p class="empty-title">{props.title}</p>
      {props.children}
    </div>
  );
}

export function ErrorNote({ error }: { error: CallError | undefined }): JSX.Element | null {
  // The banner and the login page show these two.
  if (!error || error.status === 0 || error.code === "unauthenticated") return null;
  return (
    <p class="error" role="alert">
      <strong>{error.code.replaceAll("_", " ")}:</strong> {error.message}
    </p>
  );
}

// Grey bars in place of content that is loading.
export function Skeleton({ lines = 3 }: { lines?: number }): JSX.Element {
  return (
    <div class="skeleton" role="status" aria-label="Loading">
      {Array.from({ length: lines }, (_, index) => (
        <span key={index} />
      ))}
    </div>
  );
}

async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Without TLS, browsers have a clipboard only for loopback addresses.
    const area = document.createElement("textarea");
    area.value = text;
    area.className = "offscreen";
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}

// A command of the shell with a button that copies it.
export function Command({ text, label }: { text: string; label?: string }): JSX.Element {
  const [state, setState] = useState<"" | "copied" | "select and copy it">("");
  const timer = useRef<ReturnType<typeof setTimeout>>();
  useEffect(() => () => clearTimeout(timer.current), []);
  const onClick = async (): Promise<void> => {
    setState((await copy(text)) ? "copied" : "select and copy it");
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setState(""), 2000);
  };
  return (
    <span class="command">
      {label && <span class="muted">{label}</span>}
      <code>{text}</code>
      <button
        type="button"
        class="small"
        onClick={() => void onClick()}
        aria-label={`Copy ${text}`}
      >
        {state || "copy"}
      </button>
    </span>
  );
}

// Text that may be long, cut off by a button that shows the rest.
export function LongText({ text, limit = 200 }: { text: string; limit?: number }): JSX.Element {
  const [open, setOpen] = useState(false);
  if (text.length <= limit) return <span class="long">{text}</span>;
  return (
    <span class="long">
      {open ? text : `${text.slice(0, limit)}… `}
      <button type="button" class="link" aria-expanded={open} onClick={() => setOpen(!open)}>
        {open ? "less" : `${text.length - limit} more characters`}
      </button>
    </span>
  );
}

// A bar that shows a part of 1.
export function Progress(props: { done: number; of: number; label: string }): JSX.Element {
  const part = props.of > 0 ? Math.min(100, (100 * props.done) / props.of) : 0;
  return (
    <span
      class="progress"
      role="progressbar"
      aria-valuemin={0}
      aria-valuemax={props.of}
      aria-valuenow={props.done}
      aria-label={props.label}
      title={props.label}
    >
      <span style={{ width: `${part}%` }} />
    </span>
  );
}

// Rows of a name and a value.
export function Facts(props: {
  rows: readonly (readonly [string, ComponentChildren] | undefined | false)[];
}): JSX.Element {
  return (
    <dl class="facts">
      {props.rows.map(
        (row) =>
          row && (
            <div key={row[0]}>
              <dt>{row[0]}</dt>
              <dd>{row[1]}</dd>
            </div>
          ),
      )}
    </dl>
  );
}

// A part of a page with a heading.
export function Section(props: {
  title: string;
  aside?: ComponentChildren;
  children: ComponentChildren;
}): JSX.Element {
  return (
    <section class="section">
      <header>
        <h2>{props.title}</h2>
        {props.aside && <div class="aside">{props.aside}</div>}
      </header>
      {props.children}
    </section>
  );
}

// The heading of a page.
export function PageHead(props: {
  title: ComponentChildren;
  // Words above the title that say what the page shows.
  kind?: ComponentChildren;
  children?: ComponentChildren;
}): JSX.Element {
  return (
    <header class="page-head">
      {props.kind && <p class="kind">{props.kind}</p>}
      <div class="page-title">
        <h1>{props.title}</h1>
        {props.children}
      </div>
    </header>
  );
}
