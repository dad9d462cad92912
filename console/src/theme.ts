// The colour theme: that of the system, or the user's choice.

import { signal } from "@preact/signals";

export type Theme = "auto" | "light" | "dark";

const KEY = "assay.theme";

function stored(): Theme {
  try {
    const value = localStorage.getItem(KEY);
    return value === "light" || value === "dark" ? value : "auto";
  } catch {
    return "auto";
  }
}

export const theme = signal<Theme>("auto");
// True if the page is dark now. Canvases are drawn again when it changes.
export const dark = signal(false);

function apply(): void {
  const system = matchMedia("(prefers-color-scheme: dark)").matches;
  dark.value = theme.value === "dark" || (theme.value === "auto" && system);
  document.documentElement.dataset.theme = dark.value ? "dark" : "light";
}

export function startTheme(): void {
  theme.value = stored();
  apply();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", apply);
}

export function setTheme(value: Theme): void {
  theme.value = value;
  try {
    if (value === "auto") localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, value);
  } catch {
    // The choice lasts until the page closes.
  }
  apply();
}
