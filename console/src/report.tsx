// The script of a report. See report_data.ts for the page that it finds.

import type { TabulateResultsResponseJson } from "proto/result_service_pb";
import { Columns, selectRows } from "./figures/columns";
import type { Drawing } from "./figures/drawing";
import { drawHeat, heatModel, heatSummary } from "./figures/heatmap";
import { drawHistory, historyCases, historyModel, historySummary } from "./figures/history";
import { drawLines, linesSummary } from "./figures/lines";
import { mountFigure } from "./figures/mount";
import { familyOf, groupsModel, linesOf } from "./figures/results";
import { drawRoofline, rooflineModel, rooflineSummary } from "./figures/roofline";
import { drawForest, drawStrip, forestModel, forestSummary, groupsSummary } from "./figures/rows";
import { sortCells } from "./report_table";
import type { ReportData } from "./report_data";

interface ReportFigure {
  summary: string;
  draw: (width: number) => Drawing;
}

// Tables with more rows are folded.
const LONG_TABLE = 15;

function rowsOf(data: ReportData, benchmark: string, metric: string): TabulateResultsResponseJson {
  const table = new Columns(data.results);
  return selectRows(
    data.results,
    (row) => table.text("benchmark", row) === benchmark && table.text("metric", row) === metric,
  );
}

// Returns what a section shows, or undefined if its data is absent or empty.
function figureOf(data: ReportData, section: HTMLElement): ReportFigure | undefined {
  const index = Number(section.dataset.index ?? 0);
  const by = (section.dataset.by ?? "").split(",").filter(Boolean);
  switch (section.dataset.figure) {
    case "roofline": {
      const roofline = data.roofline.rooflines?.[index];
      const model = roofline && rooflineModel(roofline);
      if (!model?.dots.length) return undefined;
      return { summary: rooflineSummary(model), draw: (width) => drawRoofline(model, width, false) };
    }
    case "heatmap": {
      const matrix = data.pairs?.matrices?.[index];
      if (!data.pairs || !matrix?.cells?.length) return undefined;
      const model = heatModel(data.pairs, matrix);
      return { summary: heatSummary(model), draw: (width) => drawHeat(model, width) };
    }
    case "forest": {
      if (!data.comparison?.cases?.length) return undefined;
      const labels = { a: data.comparison.labelA ?? "", b: data.comparison.labelB ?? "" };
      const model = forestModel(data.comparison.cases, labels, data.comparison_margin);
      return { summary: forestSummary(model), draw: (width) => drawForest(model, width) };
    }
    case "history": {
      const places = historyCases(data.history?.places ?? [])[index];
      if (!places) return undefined;
      const model = historyModel(places, data.history?.annotations);
      return { summary: historySummary(model), draw: (width) => drawHistory(model, width, false) };
    }
    case "bandwidth":
    case "strip": {
      const rows = rowsOf(data, section.dataset.benchmark ?? "", section.dataset.metric ?? "");
      if (!rows.rowCount) return undefined;
      const family = familyOf(rows);
      if (section.dataset.figure === "strip") {
        const model = groupsModel(rows, family, by.length ? by : ["node"], false);
        if (!model.groups.length) return undefined;
        return { summary: groupsSummary(model), draw: (width) => drawStrip(model, width) };
      }
      const model = linesOf(rows, family, section.dataset.parameter ?? "bytes", by, false);
      if (!model.series.length) return undefined;
      return { summary: linesSummary(model), draw: (width) => drawLines(model, width) };
    }
    default:
      return undefined;
  }
}

function drawFigures(data: ReportData): void {
  for (const section of document.querySelectorAll<HTMLElement>("section[data-figure]")) {
    const figure = figureOf(data, section);
    if (!figure) continue;
    const holder = document.createElement("div");
    holder.className = "chart";
    const table = section.querySelector(".table-holder");
    if (table) table.before(holder);
    else section.append(holder);
    mountFigure(holder, { title: section.querySelector("h2, h3")?.textContent ?? "", ...figure });
  }
}

function makeSortable(table: HTMLTableElement): void {
  const body = table.tBodies[0];
  const heads = [...(table.tHead?.rows[0]?.cells ?? [])];
  if (!body || body.rows.length < 2) return;
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "sort";
    const arrow = document.createElement("span");
    arrow.className = "arrow";
    arrow.setAttribute("aria-hidden", "true");
    button.append(...head.childNodes, arrow);
    head.append(button);
    button.addEventListener("click", () => {
      const ascending = head.getAttribute("aria-sort") !== "ascending";
      for (const other of heads) {
        other.removeAttribute("aria-sort");
        const mark = other.querySelector(".arrow");
        if (mark) mark.textContent = "";
      }
      head.setAttribute("aria-sort", ascending ? "ascending" : "descending");
      arrow.textContent = ascending ? "▴" : "▾";
      const rows = [...body.rows];
      const cells = rows.map((row) => {
        const cell = row.cells[column];
        return cell?.dataset.value ?? cell?.textContent?.trim() ?? "";
      });
      body.append(...sortCells(cells, !ascending).map((index) => rows[index]!));
    });
  });
}

// Puts a long table under a line that opens it.
function fold(holder: HTMLElement): void {
  const rows = holder.querySelectorAll("tbody tr").length;
  if (rows <= LONG_TABLE) return;
  const details = document.createElement("details");
  const summary = document.createElement("summary");
  summary.textContent = `Table with ${rows.toLocaleString("en-US")} rows`;
  holder.before(details);
  details.append(summary, holder);
}

function followTheme(): void {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const apply = (dark: boolean) => {
    document.documentElement.dataset.theme = dark ? "dark" : "light";
  };
  apply(system.matches);
  system.addEventListener("change", () => apply(system.matches));
  // Paper is white, and has no lines to click on.
  let opened: HTMLDetailsElement[] = [];
  addEventListener("beforeprint", () => {
    apply(false);
    opened = [...document.querySelectorAll<HTMLDetailsElement>("details:not([open])")];
    for (const details of opened) details.open = true;
  });
  addEventListener("afterprint", () => {
    apply(system.matches);
    for (const details of opened) details.open = false;
  });
}

function start(): void {
  followTheme();
  const text = document.getElementById("assay-report")?.textContent;
  if (text) drawFigures(JSON.parse(text) as ReportData);
  for (const table of document.querySelectorAll<HTMLTableElement>("table.table:not(.plain)")) {
    makeSortable(table);
  }
  for (const holder of document.querySelectorAll<HTMLElement>(".table-holder")) {
    if (!holder.querySelector("table.plain")) fold(holder);
  }
}

if (document.readyState === "loading") addEventListener("DOMContentLoaded", start);
else start();
