// The console.

import { type ComponentType, render } from "preact";
import { useEffect } from "preact/hooks";
import { connection, logIn } from "./api";
import { PageHead } from "./components/basic";
import { Layout, Login } from "./components/layout";
import { CampaignPage } from "./pages/campaign";
import { CampaignsPage } from "./pages/campaigns";
import { ComparePage } from "./pages/compare";
import { FindingsPage } from "./pages/findings";
import { FleetPage } from "./pages/fleet";
import { LinksPage } from "./pages/links";
import { NodePage } from "./pages/node";
import { ResultPage } from "./pages/result";
import { ResultsPage } from "./pages/results";
import { RooflinePage } from "./pages/roofline";
import { SeriesPage } from "./pages/series";
import { route, startRouter, to } from "./router";
import { startTheme } from "./theme";

// The titles are those of the browser's tab. A page's argument comes before it.
const PAGES: Record<string, { title: string; view: ComponentType }> = {
  "": { title: "Fleet", view: FleetPage },
  campaigns: { title: "Campaigns", view: CampaignsPage },
  campaign: { title: "Campaign", view: CampaignPage },
  results: { title: "Results", view: ResultsPage },
  result: { title: "Result", view: ResultPage },
  series: { title: "Series", view: SeriesPage },
  compare: { title: "Compare", view: ComparePage },
  roofline: { title: "Roofline", view: RooflinePage },
  links: { title: "Links", view: LinksPage },
  node: { title: "Node", view: NodePage },
  findings: { title: "Findings", view: FindingsPage },
};

function App() {
  const { page, argument } = route.value;
  const found = PAGES[page];
  const title = found?.title ?? "Not found";
  useEffect(() => {
    document.title = `${argument ? `${argument.slice(0, 40)} · ` : ""}${title} · Assay`;
  }, [title, argument]);
  // A new page begins at its top, and screen readers read it from there.
  useEffect(() => {
    scrollTo(0, 0);
  }, [page, argument]);

  if (connection.value === "signed-out") return <Login />;
  if (!found) {
    return (
      <Layout>
        <PageHead title="There is no such page." />
        <p>
          <a href={to("")}>Go to the fleet</a>
        </p>
      </Layout>
    );
  }
  const View = found.view;
  return (
    <Layout>
      <View key={`${page}/${argument}`} />
    </Layout>
  );
}

// Logs in with a token that came in the address, "#token=XYZ", and removes it from there.
async function logInFromAddress(): Promise<void> {
  const token = /^#token=(.+)$/.exec(location.hash)?.[1];
  if (!token) return;
  history.replaceState(null, "", "#/");
  try {
    await logIn(decodeURIComponent(token));
  } catch {
    connection.value = "signed-out";
  }
}

startTheme();
void logInFromAddress().then(() => {
  startRouter();
  render(<App />, document.getElementById("app")!);
});
