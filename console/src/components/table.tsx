// Tables that sort, and draw only the rows in view if there are many.

import type { ComponentChildren, JSX } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { useKeys } from "../hooks";
import { param, setParams } from "../router";
import { formatSort, parseSort, sortRows, visibleRange } from "../table";

export interface Column<Row> {
  key: string;
  title: string;
  // Shown in the heading if all values have the same unit.
  unit?: string;
  // Explains the column on hover.
  help?: string;
  // Right-aligned, with digits of equal width. Sorts largest first.
  numeric?: boolean;
  // Text that may be cut off.
  wide?: boolean;
  // The value to sort by. A column without one cannot be sorted.
  value?: (row: Row) => string | number | undefined;
  // Content of the cell. Default: `value`.
  cell?: (row: Row) => ComponentChildren;
}

const VIRTUAL_ABOVE = 200;
const ROW_HEIGHT = 30;

export function Table<Row>(props: {
  // What the rows are, for screen readers.
  label: string;
  rows: readonly Row[];
  columns: readonly Column<Row>[];
  rowKey: (row: Row) => string;
  // Order without a choice of the user, such as "-median". Default: the order of `rows`.
  initialSort?: string;
  // Parameter of the address that holds the order. Must be unique on a page.
  sortParameter?: string;
  // The keys j and k move in this table. Only one of a page.
  main?: boolean;
  rowClass?: (row: Row) => string | undefined;
  empty?: ComponentChildren;
}): JSX.Element {
  const { rows, columns } = props;
  const sortParameter = props.sortParameter ?? "sort";
  const sortText = param(sortParameter) || props.initialSort || "";
  const sort = parseSort(sortText);

  const sorted = useMemo(() => {
    const order = parseSort(sortText);
    const value = order && columns.find((column) => column.key === order.key)?.value;
    return order && value ? sortRows(rows, value, order.descending) : rows;
  }, [rows, columns, sortText]);

  const virtual = sorted.length > VIRTUAL_ABOVE;
  const holder = useRef<HTMLDivElement>(null);
  const [range, setRange] = useState({ first: 0, last: Math.min(sorted.length, 60) });
  const updateRange = (): void => {
    const element = holder.current;
    if (!element) return;
    const next = virtual
      ? visibleRange(sorted.length, ROW_HEIGHT, element.scrollTop, element.clientHeight)
      : { first: 0, last: sorted.length };
    setRange((old) => (old.first === next.first && old.last === next.last ? old : next));
  };
  useLayoutEffect(updateRange, [sorted.length, virtual]);

  const wanted = useRef<number | undefined>(undefined);
  const focusRow = (index: number): boolean => {
    const row = holder.current?.querySelector<HTMLElement>(`tr[data-index="${index}"]`);
    if (!row) return false;
    const target = row.querySelector<HTMLElement>("a, button") ?? row;
    target.focus({ preventScroll: false });
    return true;
  };
  useEffect(() => {
    if (wanted.current === undefined) return;
    if (focusRow(wanted.current)) wanted.current = undefined;
  });
  useKeys((event) => {
    if (!props.main || (event.key !== "j" && event.key !== "k") || sorted.length === 0) return;
    event.preventDefault();
    const focused = document.activeElement?.closest<HTMLElement>("tr[data-index]");
    const inside = focused && holder.current?.contains(focused);
    const current = inside ? Number(focused.dataset.index) : -1;
    const step = event.key === "j" ? 1 : -1;
    const index = Math.min(sorted.length - 1, Math.max(0, current + step));
    if (focusRow(index)) return;
    wanted.current = index;
    holder.current!.scrollTop = index * ROW_HEIGHT;
  });

  if (rows.length === 0 && props.empty !== undefined) return <>{props.empty}</>;

  const first = virtual ? Math.min(range.first, sorted.length) : 0;
  const last = virtual ? Math.min(range.last, sorted.length) : sorted.length;
  const onSort = (column: Column<Row>): void => {
    const descending = sort?.key === column.key ? !sort.descending : column.numeric === true;
    setParams({ [sortParameter]: formatSort({ key: column.key, descending }) });
  };
  const spacer = (count: number): JSX.Element | null =>
    count > 0 ? (
      <tr aria-hidden="true" class="spacer">
        <td colSpan={columns.length} style={{ height: `${count * ROW_HEIGHT}px` }} />
      </tr>
    ) : null;

  return (
    <div
      class={`table-holder${virtual ? " virtual" : ""}`}
      ref={holder}
      onScroll={virtual ? updateRange : undefined}
      tabIndex={0}
      role="region"
      aria-label={props.label}
    >
      <table class="table" aria-rowcount={sorted.length + 1}>
        <thead>
          <tr>
            {columns.map((column) => (
              <th
                key={column.key}
                scope="col"
                class={column.numeric ? "number" : undefined}
                title={column.help}
                aria-sort={
                  sort?.key === column.key
                    ? sort.descending
                      ? "descending"
                      : "ascending"
                    : undefined
                }
              >
                {column.value ? (
                  <button type="button" class="sort" onClick={() => onSort(column)}>
                    {column.title}
                    {column.unit && <span class="unit"> {column.unit}</span>}
                    <span class="arrow" aria-hidden="true">
                      {sort?.key === column.key ? (sort.descending ? "▾" : "▴") : ""}
                    </span>
                  </button>
                ) : (
                  <>
                    {column.title}
                    {column.unit && <span class="unit"> {column.unit}</span>}
                  </>
                )}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {spacer(first)}
          {sorted.slice(first, last).map((row, index) => (
            <tr
              key={props.rowKey(row)}
              data-index={first + index}
              aria-rowindex={first + index + 2}
              class={props.rowClass?.(row)}
              tabIndex={-1}
            >
              {columns.map((column) => (
                <td
                  key={column.key}
                  class={
                    [column.numeric && "number", column.wide && "wide"].filter(Boolean).join(" ") ||
                    undefined
                  }
                >
                  {column.cell ? column.cell(row) : column.value?.(row)}
                </td>
              ))}
            </tr>
          ))}
          {spacer(sorted.length - last)}
        </tbody>
      </table>
    </div>
  );
}
