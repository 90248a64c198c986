import { lazy, type ReactNode } from "react";
import { rightTo, useAbout } from "../about.tsx";
import { Page } from "../parts/page.tsx";
import { Tabs } from "../parts/tabs.tsx";
import type { Route } from "../request.ts";
import { useUrlState } from "../kit/url-state.ts";
import { Explain, EXPLAIN } from "./access/explain.tsx";

/** Most visits only ask why something is refused. */
const Audit = lazy(() => import("./access/audit.tsx"));

/** Views of the page, and the route without which there is nothing to show. */
const VIEWS = [
  ["explain", "Explain", EXPLAIN],
  ["audit", "Audit", "GET /_meta/team-auth/audit"],
] as const satisfies readonly (readonly [id: string, title: string, route: Route])[];

/** What somebody may do, why, and who decides it. */
export function AccessPage(): ReactNode {
  const about = useAbout();
  const views = VIEWS.filter(([, , route]) => rightTo(about, route).isThere);
  const [wanted] = useUrlState("view");
  const view = views.find(([id]) => id === wanted) ?? views[0]!;
  const [id, , route] = view;
  const { reason } = rightTo(about, route);
  return (
    <Page title="Access">
      {views.length > 1 && (
        <Tabs tabs={views.map(([name, title]) => [name, title])} current={id} path="/access" />
      )}
      {reason !== undefined && <p className="note">{reason}</p>}
      {reason === undefined && (id === "explain" ? <Explain /> : <Audit />)}
    </Page>
  );
}
