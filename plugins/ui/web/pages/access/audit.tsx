import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { matches } from "../../model.ts";
import { Act } from "../../parts/act.tsx";
import { Loaded } from "../../parts/loaded.tsx";
import { Moment } from "../../parts/moment.tsx";
import { Search } from "../../parts/search.tsx";
import { Table } from "../../parts/table.tsx";
import { Words } from "../../parts/text.tsx";
import { useIntervalWithout } from "../../query.ts";
import { send, type RequestFailure, type Route } from "../../request.ts";
import { countOf } from "../../kit/words.ts";
import { useUrlState } from "../../kit/url-state.ts";

const AUDIT: Route = "GET /_meta/team-auth/audit";
/** Rows that are shown; a shell exports all. */
const NEWEST = 500;

interface Entry {
  readonly seq: number;
  readonly at: string;
  readonly actor: string;
  readonly action: string;
  readonly target: string;
  readonly details: string | null;
}

/** What was changed, by whom, the newest first. */
export default function Audit(): ReactNode {
  const params = { newest: NEWEST };
  const query = useQuery<readonly Entry[], RequestFailure>({
    queryKey: [AUDIT, params],
    queryFn: async ({ signal }) => linesOf(await (await send(AUDIT, { params, signal })).text()),
    refetchInterval: useIntervalWithout("audit") ?? false,
    meta: { live: "audit" },
  });
  const [search, setSearch] = useUrlState("q");
  return (
    <>
      <div className="row tools">
        <Search label="Search the audit" value={search} onChange={setSearch} />
        <Act
          route="GET /_meta/team-auth/audit/verify"
          what="Check the chain"
          done={(verdict) => sentenceOf(verdict)}
        >
          Check the chain
        </Act>
      </div>
      <Loaded query={query} what="The audit">
        {(entries) => (
          <Table
            label="Audit"
            rows={entries.filter(({ actor, action, target, details }) =>
              matches(search, actor, action, target, details),
            )}
            keyOf={({ seq }) => String(seq)}
            empty={entries.length === 0 ? "Nothing was changed yet." : "No row fits."}
            columns={[
              ["Row", ({ seq }) => seq],
              ["At", ({ at }) => <Moment at={at} />],
              ["Who", ({ actor }) => <Words>{actor}</Words>],
              ["Did", ({ action }) => <Words>{action}</Words>],
              ["To", ({ target }) => <Words>{target}</Words>],
              ["Details", ({ details }) => <Words>{details}</Words>],
            ]}
          />
        )}
      </Loaded>
    </>
  );
}

function linesOf(text: string): readonly Entry[] {
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Entry);
}

type Verdict = { ok: true; rows: number } | { ok: false; seq: number; problem: string };

function sentenceOf(verdict: Verdict): string {
  if (verdict.ok) return `The chain is whole: ${countOf(verdict.rows, "row")}.`;
  return `Row ${verdict.seq} is ${verdict.problem}. Compare it with an export.`;
}
