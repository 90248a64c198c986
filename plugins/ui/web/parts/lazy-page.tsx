import { lazy, useEffect, useRef, type ComponentType, type ReactNode } from "react";
import { useLiveState } from "../live.tsx";
import { Page } from "./page.tsx";

/** A page in a file of its own. When that cannot be loaded, the rest of the interface stays. */
export function lazyPage(load: () => Promise<{ default: ComponentType }>): ComponentType {
  return lazy(() => load().catch(() => ({ default: Unloaded })));
}

/** In place of a page, until the gateway answers again. */
function Unloaded(): ReactNode {
  const { kind } = useLiveState();
  const wasAway = useRef(false);
  useEffect(() => {
    if (kind !== "live") wasAway.current = true;
    else if (wasAway.current) location.reload();
  }, [kind]);
  return (
    <Page title="This page could not be loaded">
      <p>The gateway did not answer. The page loads as soon as the gateway is back.</p>
      <button type="button" onClick={() => location.reload()}>
        Load again
      </button>
    </Page>
  );
}
