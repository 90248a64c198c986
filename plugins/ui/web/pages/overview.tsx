import type { ReactNode } from "react";
import { Link } from "wouter";
import { useAbout, rightTo } from "../about.tsx";
import { outcomeOf, verdictOf, type CallRow, type ServerRow } from "../model.ts";
import { Badge, type Tone } from "../parts/badge.tsx";
import { Loaded } from "../parts/loaded.tsx";
import { Moment } from "../parts/moment.tsx";
import { Empty, Page, Section } from "../parts/page.tsx";
import { Reload } from "../parts/reload.tsx";
import { Words } from "../parts/text.tsx";
import { PanelsAt } from "../panels/panels.tsx";
import { useAsk } from "../query.ts";
import { Attention } from "./overview/attention.tsx";
import { LastHour } from "./overview/last-hour.tsx";

/** Whether anything is wrong, since when, and what changed last. */
export function OverviewPage(): ReactNode {
  const servers = useAsk<{ servers: readonly ServerRow[] }>("GET /_meta/servers");
  return (
    <Page title="Overview" actions={<Reload />}>
      <Loaded query={servers} what="The list of servers">
        {({ servers: rows }) => (
          <>
            <Counts servers={rows} />
            <Attention servers={rows} />
          </>
        )}
      </Loaded>
      <LastHour />
      <Warnings />
      <Failures />
      <PanelsAt place="overview" />
    </Page>
  );
}

const TONES: readonly (readonly [Tone, string])[] = [
  ["ok", "ready"],
  ["degraded", "degraded"],
  ["error", "failing"],
  ["busy", "connecting"],
  ["off", "switched off"],
];

/** How many servers are in which state; each leads to those. */
function Counts({ servers }: { readonly servers: readonly ServerRow[] }): ReactNode {
  const tools = servers.reduce(
    (sum, server) => sum + (server.enabled ? server.tools.enabled : 0),
    0,
  );
  return (
    <ul className="tiles">
      {TONES.map(([tone, word]) => {
        const number = servers.filter((server) => verdictOf(server).tone === tone).length;
        if (number === 0 && tone !== "ok") return null;
        return (
          <li key={tone}>
            <Link href={`/servers?state=${tone}`} className="tile">
              <span className="figure">{number}</span>
              <Badge tone={tone}>{word}</Badge>
            </Link>
          </li>
        );
      })}
      <li>
        <Link href="/servers" className="tile">
          <span className="figure">{tools}</span>
          <span className="faint">{tools === 1 ? "tool" : "tools"}</span>
        </Link>
      </li>
    </ul>
  );
}

function Warnings(): ReactNode {
  const { warnings } = useAbout();
  if (warnings.length === 0) return null;
  return (
    <Section title="Warnings">
      <ul className="list">
        {warnings.map(({ code, message, hint, path }) => (
          <li key={`${code} ${message}`}>
            <Badge tone="degraded">{code.replaceAll("_", " ")}</Badge>
            <span className="grow">
              <Words>{`${message} ${hint}`}</Words>
              {path.length > 0 && (
                <span className="faint">
                  {" "}
                  at <code>{path.join(".")}</code>
                </span>
              )}
            </span>
          </li>
        ))}
      </ul>
    </Section>
  );
}

/** The last calls that failed, where calls are remembered. */
function Failures(): ReactNode {
  const about = useAbout();
  const isKept = rightTo(about, "GET /_meta/history").isThere;
  const failed = useAsk<{ entries: readonly CallRow[] }>(
    "GET /_meta/history",
    { outcome: "failed", limit: 8, brief: 1 },
    { enabled: isKept, every: 8_000 },
  );
  if (!isKept) return null;
  return (
    <Section title="Last failures" actions={<Link href="/activity">All calls</Link>}>
      <Loaded query={failed} what="The last failures">
        {({ entries }) =>
          entries.length === 0 ? (
            <Empty>No recent failures.</Empty>
          ) : (
            <ul className="list">
              {entries.map((call) => (
                <li key={call.id}>
                  <Moment at={call.at} />
                  <Link href={`/activity?call=${encodeURIComponent(call.id)}`}>
                    <Words>{`${call.server} / ${call.tool}`}</Words>
                  </Link>
                  <Badge tone={outcomeOf(call).tone}>{outcomeOf(call).word}</Badge>
                  <span className="faint grow">
                    <Words>{outcomeOf(call).reason?.replaceAll("_", " ")}</Words>
                  </span>
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
    </Section>
  );
}
