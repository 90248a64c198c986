import type { ReactNode } from "react";
import { useSelection } from "../live.tsx";
import type { CallRow, ServerRow } from "../model.ts";
import { addressOf, type Params } from "../request.ts";
import { Act } from "../parts/act.tsx";
import { Loaded } from "../parts/loaded.tsx";
import { Page } from "../parts/page.tsx";
import { Choice, Search } from "../parts/search.tsx";
import { useAsk } from "../query.ts";
import { useUrlState } from "../kit/url-state.ts";
import { CallDetails } from "./activity/call.tsx";
import { Calls } from "./activity/calls.tsx";
import { Running } from "./activity/running.tsx";

/** Calls that run and calls that ended, newest first. */
export function ActivityPage(): ReactNode {
  const [server, setServer] = useUrlState("server");
  const [tool, setTool] = useUrlState("tool");
  const [caller, setCaller] = useUrlState("caller");
  const [outcome, setOutcome] = useUrlState("outcome");
  const [cursor, setCursor] = useUrlState("before");
  const [open, setOpen] = useUrlState("call");
  const filter: Params = { server, tool, principal: caller, outcome };
  const query = useAsk<{ entries: readonly CallRow[]; next: string | null }>(
    "GET /_meta/history",
    { ...filter, limit: 100, brief: 1, cursor },
    { every: 3_000 },
  );
  useSelection({ kinds: "call_end" });
  const servers = useAsk<{ servers: readonly ServerRow[] }>("GET /_meta/servers");
  return (
    <Page title="Activity" actions={<Actions filter={filter} />}>
      <div className="row tools">
        <Choice
          label="Server"
          value={server}
          onChange={setServer}
          options={[
            ["", "All servers"],
            ...(servers.data?.servers ?? []).map(({ name }) => [name, name] as const),
          ]}
        />
        <Search value={tool} onChange={setTool} label="Filter by tool" />
        <input
          data-effect="filter"
          aria-label="Caller"
          placeholder="Caller, e.g. key:ci"
          value={caller}
          onChange={({ target }) => setCaller(target.value)}
        />
        <Choice label="Outcome" value={outcome} onChange={setOutcome} options={OUTCOMES} />
      </div>
      <Running />
      <Loaded query={query} what="The history">
        {({ entries, next }) => (
          <>
            <Calls
              calls={entries}
              onOpen={setOpen}
              empty={
                Object.values(filter).some((value) => value !== "")
                  ? "No matching calls."
                  : "No calls yet. Try a tool on the page of its server."
              }
            />
            <div className="row">
              {cursor !== "" && (
                <button type="button" data-route="GET /_meta/history" onClick={() => setCursor("")}>
                  Newest
                </button>
              )}
              {next !== null && (
                <button
                  type="button"
                  data-route="GET /_meta/history"
                  onClick={() => setCursor(next)}
                >
                  Older
                </button>
              )}
            </div>
          </>
        )}
      </Loaded>
      {open !== "" && <CallDetails id={open} onClose={() => setOpen("")} />}
    </Page>
  );
}

const OUTCOMES = [
  ["", "All outcomes"],
  ["ok", "ok"],
  ["failed", "all that failed"],
  ["refused", "refused by the gateway"],
  ["cancelled", "cancelled"],
  ["tool_error", "tool error"],
  ["timed_out", "timed out"],
  ["unreachable", "unreachable"],
] as const;

/** What can be done with the whole history. */
function Actions({ filter }: { readonly filter: Params }): ReactNode {
  return (
    <>
      <a
        className="button"
        data-route="GET /_meta/history/export"
        href={addressOf("GET /_meta/history/export", filter).href}
        download="history.jsonl"
      >
        Export
      </a>
      <Act
        route="DELETE /_meta/history"
        what="Clear history"
        tone="danger"
        confirm="All recorded calls are deleted, for everyone. You cannot undo this."
        done="The history is empty."
      >
        Clear history
      </Act>
    </>
  );
}
