import type { ReactNode } from "react";
import { useRight } from "../about.tsx";
import { Page } from "../parts/page.tsx";
import { Explain, EXPLAIN } from "./access/explain.tsx";

/** What somebody may do, and why. */
export function AccessPage(): ReactNode {
  const { reason } = useRight(EXPLAIN);
  return (
    <Page title="Access">
      {reason === undefined ? <Explain /> : <p className="note">{reason}</p>}
    </Page>
  );
}
