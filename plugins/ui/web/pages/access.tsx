import type { ReactNode } from "react";
import { Redirect, useSearchParams } from "wouter";
import { useRight } from "../about.tsx";
import { Page } from "../parts/page.tsx";
import { Explain, EXPLAIN } from "./access/explain.tsx";

/** What somebody may do, and why. The lists that were views of it once are panels of their plugin. */
export function AccessPage(): ReactNode {
  const { reason } = useRight(EXPLAIN);
  const [params] = useSearchParams();
  const { view = "explain", ...others } = Object.fromEntries(params);
  if (view !== "explain") {
    const query = new URLSearchParams(others).toString();
    const panel = `/panels/team-auth/${encodeURIComponent(view)}`;
    return <Redirect to={query === "" ? panel : `${panel}?${query}`} replace />;
  }
  return (
    <Page title="Access">
      {reason === undefined ? <Explain /> : <p className="note">{reason}</p>}
    </Page>
  );
}
