import type { ServerDetails } from "propylon/plugins/admin";
import type { ReactNode } from "react";
import { Link, useParams } from "wouter";
import { rightTo, useAbout, type About } from "../about.tsx";
import { verdictOf } from "../model.ts";
import { Toggle } from "../parts/act.tsx";
import { Badge } from "../parts/badge.tsx";
import { Outage } from "../parts/outage.tsx";
import { Loaded } from "../parts/loaded.tsx";
import { Countdown, Moment } from "../parts/moment.tsx";
import { Empty, Page } from "../parts/page.tsx";
import { Tabs } from "../parts/tabs.tsx";
import { Passage, Words } from "../parts/text.tsx";
import { PanelsAt } from "../panels/panels.tsx";
import { useAsk } from "../query.ts";
import type { Route } from "../request.ts";
import { useUrlState } from "../kit/url-state.ts";
import { countOf, formatJson, formatSpan, toText } from "../kit/words.ts";
import { Prompts, PROMPTS, Resources, RESOURCES } from "./server/offers.tsx";
import { Tools } from "./server/tools.tsx";
import { ServerActions } from "./servers/actions.tsx";

const STDERR: Route = "GET /_meta/servers/:server/stderr";

/** One server: what it offers, how it is reached, what it said last. */
export function ServerPage(): ReactNode {
  const server = useParams()["server"]!;
  const query = useAsk<{ server: ServerDetails }>("GET /_meta/servers/:server", { server });
  const row = query.data?.server;
  const verdict = row && verdictOf(row);
  return (
    <Page
      title={server}
      above={<Link href="/servers">Servers</Link>}
      badge={verdict && <Badge tone={verdict.tone}>{verdict.word}</Badge>}
      actions={
        row && (
          <>
            <Toggle
              on={row.enabled}
              name={row.name}
              enable="POST /_meta/servers/:server/enable"
              disable="POST /_meta/servers/:server/disable"
              params={{ server }}
            />
            <ServerActions row={row} />
          </>
        )
      }
    >
      <Loaded query={query} what={`The server ${server}`}>
        {(data) => <Details row={data.server} />}
      </Loaded>
    </Page>
  );
}

function Details({ row }: { readonly row: ServerDetails }): ReactNode {
  const about = useAbout();
  const [chosen] = useUrlState("view");
  const tabs = tabsOf(row, about);
  const view = tabs.find(([id]) => id === chosen)?.[0] ?? "tools";
  return (
    <>
      <Facts row={row} />
      <Tabs tabs={tabs} current={view} path={`/servers/${encodeURIComponent(row.name)}`} />
      {view === "tools" && <Tools server={row.name} />}
      {view === "resources" && <Resources server={row.name} />}
      {view === "prompts" && <Prompts server={row.name} />}
      {view === "config" && <Passage text={formatJson(row.config)} label="Entry in the config" />}
      {view === "stderr" && <Stderr server={row.name} />}
      <PanelsAt place="servers/detail" server={row.name} />
    </>
  );
}

/** What there is to see of a server, for this visitor. */
function tabsOf(
  row: ServerDetails,
  about: About,
): readonly (readonly [id: string, title: string, count?: number])[] {
  const has = (route: Route): boolean => {
    const right = rightTo(about, route);
    return right.isThere && right.reason === undefined;
  };
  return [
    ["tools", "Tools", row.tools.total],
    ...(has(RESOURCES) ? ([["resources", "Resources", row.resources]] as const) : []),
    ...(has(PROMPTS) ? ([["prompts", "Prompts", row.prompts]] as const) : []),
    ...(row.config == null ? [] : ([["config", "Config"]] as const)),
    ...(has(STDERR) && row.transport === "stdio" ? ([["stderr", "Standard error"]] as const) : []),
  ];
}

function Facts({ row }: { readonly row: ServerDetails }): ReactNode {
  const { breaker, health, serverInfo } = row;
  const { reason } = verdictOf(row);
  return (
    <dl className="facts">
      {reason !== undefined && (
        <div className="wide">
          <dt>Why</dt>
          <dd>
            <Words>{reason}</Words>
          </dd>
        </div>
      )}
      <div>
        <dt>{row.downSince === null ? "In this state" : "Not ready"}</dt>
        <dd>
          <Outage server={row} />
        </dd>
      </div>
      <div>
        <dt>Transport</dt>
        <dd>
          {row.transport}
          {row.protocolVersion !== null && `, MCP ${row.protocolVersion}`}
          {row.pid !== null && `, process ${row.pid}`}
        </dd>
      </div>
      {row.placement && (
        <div>
          <dt>Runs at</dt>
          <dd>
            {row.placement.host ?? "no replica at the moment"}
            {row.placement.here && ", this replica"}
            {row.placement.since !== null && (
              <>
                , since <Moment at={row.placement.since} />
              </>
            )}
            {row.placement.moves > 0 && `, moved ${row.placement.moves} times`}
          </dd>
        </div>
      )}
      {serverInfo?.["name"] !== undefined && (
        <div>
          <dt>Program</dt>
          <dd>
            <Words>{`${toText(serverInfo["name"])} ${toText(serverInfo["version"])}`}</Words>
          </dd>
        </div>
      )}
      {breaker && (
        <div>
          <dt>Circuit</dt>
          <dd>
            {breaker.state}
            {breaker.failures > 0 && `, ${countOf(breaker.failures, "failure")} in a row`}
            {breaker.retryAt !== undefined && (
              <>
                , tried again <Countdown to={breaker.retryAt} />
              </>
            )}
          </dd>
        </div>
      )}
      {health && (
        <div>
          <dt>Last probe</dt>
          <dd>
            {health.reachable ? "answered" : "no answer"}
            {health.latency !== undefined && ` in ${formatSpan(health.latency)}`},{" "}
            <Moment at={health.checkedAt} />
          </dd>
        </div>
      )}
    </dl>
  );
}

function Stderr({ server }: { readonly server: string }): ReactNode {
  const query = useAsk<{ lines: readonly string[] }>(
    STDERR,
    { server, lines: 200 },
    { every: 2_000 },
  );
  return (
    <Loaded query={query} what="What it wrote to standard error">
      {({ lines }) =>
        lines.length === 0 ? (
          <Empty>It wrote nothing to standard error.</Empty>
        ) : (
          <Passage text={lines.join("\n")} label="Standard error" />
        )
      }
    </Loaded>
  );
}
