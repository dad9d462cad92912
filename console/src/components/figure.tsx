// A figure with its title, its values as a table, and the command that prints the same.

import type { ComponentChildren, JSX } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Command } from "./basic";

export interface FigureTable {
  columns: readonly string[];
  rows: readonly (readonly (string | number)[])[];
}

// Names of colours in figures: custom properties of style.css, which follow the theme.
export const INK = {
  text: "var(--text)",
  muted: "var(--muted)",
  grid: "var(--line)",
  accent: "var(--accent)",
  bad: "var(--bad)",
  warn: "var(--warn)",
  good: "var(--good)",
  series: [1, 2, 3, 4, 5, 6, 7, 8].map((index) => `var(--series-${index})`),
};

const MAX_TABLE_ROWS = 1000;

export function Figure(props: {
  title: string;
  // One sentence that says what the figure shows, for people who cannot see it.
  summary: string;
  // The values. Made only when somebody looks at them.
  table: () => FigureTable;
  // The command line that prints the same.
  command?: string;
  // Draws into the given width in pixels. Give a stable function (useCallback): the figure is drawn
  // again when it changes.
  draw: (width: number) => SVGElement | HTMLElement;
  // Legends and controls, between the title and the figure.
  children?: ComponentChildren;
}): JSX.Element {
  const holder = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  const [showTable, setShowTable] = useState(false);

  useEffect(() => {
    const element = holder.current!;
    const observer = new ResizeObserver(() => setWidth(Math.floor(element.clientWidth)));
    observer.observe(element);
    return () => observer.disconnect();
  }, [showTable]);

  useLayoutEffect(() => {
    const element = holder.current;
    if (!element || width <= 0 || showTable) return;
    const drawn = props.draw(width);
    // Plot gives its groups labels without roles, which screen readers cannot use.
    for (const inner of drawn.querySelectorAll("[aria-label], [aria-description]")) {
      inner.removeAttribute("aria-label");
      inner.removeAttribute("aria-description");
    }
    drawn.setAttribute("role", "img");
    drawn.setAttribute("aria-label", `${props.title}. ${props.summary}`);
    element.replaceChildren(drawn);
  }, [props.draw, width, showTable, props.title, props.summary]);

  return (
    <figure class="figure">
      <figcaption>
        <span class="figure-title">{props.title}</span>
        <span class="figure-actions">
          <button
            type="button"
            class="small"
            aria-pressed={showTable}
            onClick={() => setShowTable(!showTable)}
          >
            {showTable ? "show figure" : "show table"}
          </button>
        </span>
      </figcaption>
      {props.children}
      {showTable ? (
        <FigureValues title={props.title} table={props.table()} />
      ) : (
        <div class="figure-holder" ref={holder} />
      )}
      {props.command && <Command text={props.command} />}
    </figure>
  );
}

function FigureValues({ title, table }: { title: string; table: FigureTable }): JSX.Element {
  const rows = table.rows.slice(0, MAX_TABLE_ROWS);
  return (
    <div class="table-holder figure-values" tabIndex={0} role="region" aria-label={title}>
      <table class="table">
        <thead>
          <tr>
            {table.columns.map((column) => (
              <th key={column} scope="col">
                {column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={index}>
              {row.map((cell, column) => (
                <td key={column} class={typeof cell === "number" ? "number" : undefined}>
                  {cell}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {table.rows.length > rows.length && (
        <p class="muted">{table.rows.length - rows.length} more rows are not shown.</p>
      )}
    </div>
  );
}
