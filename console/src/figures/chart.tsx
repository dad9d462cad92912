// A figure of a page, with its title and the command that prints the same. Its values are in a table
// of the page.

import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { Command } from "../components/basic";
import type { Drawing } from "./drawing";
import { type MountedFigure, mountFigure } from "./mount";

export function Chart(props: {
  title: string;
  summary: string;
  // Draws for a width in pixels. Give a stable function (useCallback or useMemo): the figure is
  // drawn again when it changes.
  draw: (width: number) => Drawing;
  command?: string | undefined;
  // Controls right of the title.
  children?: ComponentChildren;
}): JSX.Element {
  const { title, summary, draw } = props;
  const holder = useRef<HTMLDivElement>(null);
  const mounted = useRef<MountedFigure>();
  useEffect(() => {
    const options = { title, summary, draw };
    if (mounted.current) mounted.current.update(options);
    else mounted.current = mountFigure(holder.current!, options);
  }, [title, summary, draw]);
  useEffect(() => () => mounted.current?.remove(), []);
  return (
    <figure class="figure chart">
      <figcaption>
        <span class="figure-title">{title}</span>
        {props.children}
      </figcaption>
      <div ref={holder} />
      {props.command && <Command text={props.command} />}
    </figure>
  );
}
