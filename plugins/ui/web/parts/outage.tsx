import type { ReactNode } from "react";
import { outageOf, type ServerRow } from "../model.ts";
import { countOf, formatSpan } from "../kit/words.ts";
import { Countdown, Moment, useNow } from "./moment.tsx";

/** How long a server has been as it is, how often it was tried, and when it is tried next. */
export function Outage({ server }: { readonly server: ServerRow }): ReactNode {
  const { since, attempts, next } = outageOf(server);
  return (
    <>
      {since !== null && (
        <>
          for <Lasting from={since} />, since <Moment at={since} />
        </>
      )}
      {attempts > 0 && `, ${countOf(attempts, "attempt")}`}
      {next === "now" && ", being tried now"}
      {next !== undefined && next !== "now" && (
        <>
          , next try <Countdown to={next} />
        </>
      )}
    </>
  );
}

/** How long ago a moment was, counted on. */
function Lasting({ from }: { readonly from: string }): ReactNode {
  const ms = useNow() - Date.parse(from);
  return (
    <>{ms < 1_000 ? "a moment" : formatSpan(ms < 60_000 ? Math.floor(ms / 1_000) * 1_000 : ms)}</>
  );
}
