// Addresses of pages: "#/PAGE/ARGUMENT?PARAMETERS". All state of a page that a person would want to
// send to a colleague is in its address.

import { signal } from "@preact/signals";

export interface Route {
  // "" is the Fleet page.
  page: string;
  // The id or name in "#/campaign/ID". Empty for pages without one.
  argument: string;
  parameters: URLSearchParams;
}

export function parseRoute(hash: string): Route {
  const text = hash.replace(/^#/, "").replace(/^\//, "");
  const question = text.indexOf("?");
  const path = question < 0 ? text : text.slice(0, question);
  const slash = path.indexOf("/");
  return {
    page: slash < 0 ? path : path.slice(0, slash),
    argument: slash < 0 ? "" : decode(path.slice(slash + 1)),
    parameters: new URLSearchParams(question < 0 ? "" : text.slice(question + 1)),
  };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export type Parameters = Record<string, string | undefined>;

// Returns the address of a page. Leaves out parameters that are empty.
export function to(page: string, argument = "", parameters: Parameters = {}): string {
  const path = argument ? `${page}/${encodeURIComponent(argument)}` : page;
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value) query.set(name, value);
  }
  const text = query.toString();
  return `#/${path}${text ? `?${text}` : ""}`;
}

export const route = signal<Route>(
  parseRoute(typeof location === "undefined" ? "" : location.hash),
);

// Follows the address bar. Called once, by the console.
export function startRouter(): void {
  route.value = parseRoute(location.hash);
  addEventListener("hashchange", () => {
    route.value = parseRoute(location.hash);
  });
}

export function navigate(address: string): void {
  location.hash = address;
}

// Returns the address of the current page with some parameters changed. An empty or undefined value
// removes a parameter.
export function toParams(changes: Parameters): string {
  const { page, argument, parameters } = route.value;
  return to(page, argument, { ...Object.fromEntries(parameters), ...changes });
}

// Changes parameters of the current page. Adds no entry to the browser's history if `replace`,
// which suits changes that come with every key press.
export function setParams(changes: Parameters, replace = false): void {
  const address = toParams(changes);
  if (address === location.hash) return;
  if (replace) {
    history.replaceState(null, "", address);
    route.value = parseRoute(address);
  } else {
    navigate(address);
  }
}

export function param(name: string, fallback = ""): string {
  return route.value.parameters.get(name) ?? fallback;
}

// Returns an address that comes from data if it is a web address, and otherwise undefined.
export function safeHref(address: string): string | undefined {
  return /^https?:\/\//i.test(address) ? address : undefined;
}
