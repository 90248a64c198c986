import type { ReactNode } from "react";
import { rightTo, useAbout } from "../../about.tsx";
import type { RunningRow } from "../../model.ts";
import { Act } from "../../parts/act.tsx";
import { Moment } from "../../parts/moment.tsx";
import { Section } from "../../parts/page.tsx";
import { Table, type Column } from "../../parts/table.tsx";
import { Words } from "../../parts/text.tsx";
import { useAsk } from "../../query.ts";
import { formatSpan } from "../../kit/words.ts";

/** What runs now, and the way to end it. */
export function Running(): ReactNode {
  const about = useAbout();
  const right = rightTo(about, "GET /_meta/calls");
  const isShown = right.isThere && right.reason === undefined;
  const { data } = useAsk<{ calls: readonly RunningRow[]; total: number }>(
    "GET /_meta/calls",
    { limit: 100 },
    { enabled: isShown, every: 2_000 },
  );
  if (!data || data.calls.length === 0) return null;
  return (
    <Section title={`Running: ${data.total}`}>
      <Table
        label="Calls that run"
        rows={data.calls}
        keyOf={({ id }) => id}
        columns={COLUMNS}
        nameAt={1}
      />
    </Section>
  );
}

const COLUMNS: readonly Column<RunningRow>[] = [
  ["Since", ({ startedAt }) => <Moment at={startedAt} />],
  ["Call", ({ server, name }) => <Words>{`${server} / ${name}`}</Words>],
  ["Caller", ({ principal }) => <Words>{principal}</Words>],
  ["For", ({ ms }) => (ms === null ? "–" : formatSpan(ms)), "number"],
  [
    "",
    ({ id, name }) => (
      <Act
        route="DELETE /_meta/calls/:id"
        params={{ id }}
        what={`Cancel ${name}`}
        label={`Cancel ${name}`}
        tone="quiet"
      >
        Cancel
      </Act>
    ),
  ],
];
