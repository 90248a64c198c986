import { useMemo, type ReactNode } from "react";
import { Link } from "wouter";
import type { BusyTool, HourView } from "propylon/plugins/metrics";
import { rightTo, useAbout } from "../../about.tsx";
import { Chart } from "./chart.tsx";
import { Loaded } from "../../parts/loaded.tsx";
import { Section } from "../../parts/page.tsx";
import { Words } from "../../parts/text.tsx";
import { useAsk } from "../../query.ts";
import { countOf, formatNumber, formatSpan } from "../../kit/words.ts";

const MINUTE_MS = 60_000;
const MINUTES = 60;
/** How often the figures are asked for. */
const EVERY_MS = 8_000;

/** How many calls there were, how many failed and how long they took, where calls are counted. */
export function LastHour(): ReactNode {
  const isCounted = rightTo(useAbout(), "GET /_meta/metrics/hour").isThere;
  const hour = useAsk<HourView>(
    "GET /_meta/metrics/hour",
    {},
    { enabled: isCounted, every: EVERY_MS },
  );
  if (!isCounted) return null;
  return (
    <Loaded query={hour} what="The last hour">
      {(view) => (
        <>
          <Charts view={view} />
          <Tools view={view} />
        </>
      )}
    </Loaded>
  );
}

const percent = (value: number): string => `${formatNumber(value)} %`;

function Charts({ view }: { readonly view: HourView }): ReactNode {
  const { times, calls, failed, p95 } = useMemo(() => columnsOf(view), [view]);
  return (
    <Section title="Last hour">
      <div className="charts">
        <Chart
          title="Calls per minute"
          data={useMemo(() => ({ times, values: calls }), [times, calls])}
          colour="--accent"
          least={1}
          format={formatNumber}
        />
        <Chart
          title="Failed calls"
          data={useMemo(() => ({ times, values: failed }), [times, failed])}
          colour="--error"
          least={5}
          format={percent}
        />
        <Chart
          title="Duration, 95th percentile"
          data={useMemo(() => ({ times, values: p95 }), [times, p95])}
          colour="--ok"
          least={10}
          format={formatSpan}
        />
      </div>
      {view.missing.length > 0 && (
        <p className="faint">
          {countOf(view.missing.length, "replica")} did not answer: the calls there are not counted
          here.
        </p>
      )}
    </Section>
  );
}

/** A whole hour: the gateway has no minutes from before its start. */
function columnsOf({ minutes }: HourView) {
  const byTime = new Map(minutes.map((minute) => [Date.parse(minute.at), minute]));
  const last = Math.max(...byTime.keys());
  const starts = Array.from({ length: MINUTES }, (_, at) => last - (MINUTES - 1 - at) * MINUTE_MS);
  const rows = starts.map((start) => byTime.get(start));
  return {
    times: starts.map((start) => start / 1_000),
    calls: rows.map((row) => row?.calls ?? null),
    failed: rows.map((row) => (row && row.calls > 0 ? (100 * row.failed) / row.calls : null)),
    p95: rows.map((row) => row?.p95 ?? null),
  };
}

/** Which tools are called most, and which take longest. */
function Tools({ view: { busiest, slowest } }: { readonly view: HourView }): ReactNode {
  if (busiest.length === 0) return null;
  return (
    <div className="halves">
      <ToolTable title="Busiest tools" rows={busiest} />
      <ToolTable title="Slowest tools" rows={slowest} />
    </div>
  );
}

/** Few rows of few columns, which a narrow screen has room for. */
function ToolTable(props: {
  readonly title: string;
  readonly rows: readonly BusyTool[];
}): ReactNode {
  return (
    <Section title={props.title}>
      <div className="scroll" role="region" aria-label={props.title} tabIndex={0}>
        <table>
          <thead>
            <tr>
              <th>Tool</th>
              <th className="number">Calls</th>
              <th className="number">Failed</th>
              <th className="number">p95</th>
            </tr>
          </thead>
          <tbody>
            {props.rows.map((row) => (
              <ToolRow key={`${row.server} ${row.tool}`} row={row} />
            ))}
          </tbody>
        </table>
      </div>
    </Section>
  );
}

function ToolRow({
  row: { server, tool, calls, failed, p95 },
}: {
  readonly row: BusyTool;
}): ReactNode {
  const of = `server=${encodeURIComponent(server)}&tool=${encodeURIComponent(tool)}`;
  return (
    <tr>
      <th scope="row">
        <Link href={`/activity?${of}`}>
          <Words>{`${server} / ${tool}`}</Words>
        </Link>
      </th>
      <td className="number">{formatNumber(calls)}</td>
      <td className="number">{failed === 0 ? "–" : percent((100 * failed) / calls)}</td>
      <td className="number">{formatSpan(p95)}</td>
    </tr>
  );
}
