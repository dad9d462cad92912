// Parts that all pages have: navigation, the state of the connection, help and the version.

import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { CallError, connection, fetchInfo, logIn } from "../api";
import { useKeys } from "../hooks";
import { route, to } from "../router";
import { type Theme, setTheme, theme } from "../theme";

const NAVIGATION: readonly { page: string; title: string; also?: readonly string[] }[] = [
  { page: "", title: "Fleet", also: ["node"] },
  { page: "campaigns", title: "Campaigns", also: ["campaign"] },
  { page: "results", title: "Results", also: ["result"] },
  { page: "series", title: "Series" },
  { page: "compare", title: "Compare" },
  { page: "roofline", title: "Roofline" },
  { page: "links", title: "Links" },
  { page: "findings", title: "Findings" },
];

export function Layout({ children }: { children: ComponentChildren }): JSX.Element {
  const [version, setVersion] = useState("");
  const [help, setHelp] = useState(false);
  const state = connection.value;
  const page = route.value.page;
  // On a narrow screen, the navigation scrolls.
  const nav = useRef<HTMLElement>(null);
  useEffect(() => {
    nav.current
      ?.querySelector("[aria-current]")
      ?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [page]);
  useEffect(() => {
    if (state === "up") void fetchInfo().then((info) => setVersion(info?.version ?? ""));
  }, [state]);
  useKeys((event) => {
    if (event.key === "?") setHelp(true);
  });
  return (
    <>
      <a
        class="skip"
        href="#main"
        onClick={(event) => {
          // The address holds the page, so the browser must not follow the link.
          event.preventDefault();
          document.getElementById("main")?.focus();
        }}
      >
        Skip to the content
      </a>
      <header class="top">
        <a class="brand" href={to("")}>
          Assay
        </a>
        <nav aria-label="Pages" ref={nav}>
          {NAVIGATION.map(({ page: target, title, also }) => {
            const current = page === target || also?.includes(page);
            return (
              <a key={target} href={to(target)} aria-current={current ? "page" : undefined}>
                {title}
              </a>
            );
          })}
        </nav>
        <ThemeButton />
      </header>
      {state === "down" && (
        <div class="banner" role="alert">
          The coordinator does not answer; trying again.
        </div>
      )}
      <main id="main" tabIndex={-1}>
        {children}
      </main>
      <footer class="bottom">
        <span>Assay{version && ` ${version}`}</span>
        <button type="button" class="link" onClick={() => setHelp(true)}>
          Keys <kbd>?</kbd>
        </button>
      </footer>
      {help && <Help close={() => setHelp(false)} />}
    </>
  );
}

const NEXT_THEME: Record<Theme, Theme> = { auto: "light", light: "dark", dark: "auto" };
const THEME_MARK: Record<Theme, string> = { auto: "◐", light: "○", dark: "●" };

function ThemeButton(): JSX.Element {
  const next = NEXT_THEME[theme.value];
  return (
    <button
      type="button"
      class="theme"
      onClick={() => setTheme(next)}
      title={`Theme: ${theme.value}. Click for ${next}.`}
      aria-label={`Theme: ${theme.value}. Change to ${next}.`}
    >
      {THEME_MARK[theme.value]}
    </button>
  );
}

const KEYS: readonly (readonly [string, string])[] = [
  ["/", "go to the filter"],
  ["j, k", "next and previous row of the main table"],
  ["Enter", "open the row"],
  ["Esc", "leave the filter, close this help"],
  ["?", "show the keys"],
];

function Help({ close }: { close: () => void }): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} class="help" onClose={close} aria-label="Keys">
      <h2>Keys</h2>
      <dl>
        {KEYS.map(([key, text]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
      <form method="dialog">
        <button type="submit">Close</button>
      </form>
    </dialog>
  );
}

export function Login(): JSX.Element {
  const [token, setToken] = useState("");
  const [error, setError] = useState("");
  const [busy, setBusy] = useState(false);
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    setError("");
    try {
      await logIn(token.trim());
    } catch (failure) {
      const wrong = failure instanceof CallError && failure.code === "unauthenticated";
      setError(wrong ? "This is not the token." : String((failure as Error).message));
      setBusy(false);
    }
  };
  return (
    <main class="login">
      <form onSubmit={(event) => void submit(event)}>
        <h1>Assay</h1>
        <label>
          Token
          <input
            type="password"
            value={token}
            autocomplete="current-password"
            onInput={(event) => setToken(event.currentTarget.value)}
            required
          />
        </label>
        <p class="muted">The coordinator prints the token when it starts.</p>
        {error && (
          <p class="error" role="alert">
            {error}
          </p>
        )}
        <button type="submit" class="primary" disabled={busy}>
          Sign in
        </button>
      </form>
    </main>
  );
}
