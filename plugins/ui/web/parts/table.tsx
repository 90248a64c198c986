import type { ReactNode } from "react";
import { formatNumber } from "../words.ts";
import { Empty } from "./page.tsx";

/** Rows that a page shows at most; a filter finds the others. */
const MAX_ROWS = 1_000;

/** Rows of one kind; the first column names them. */
export function Table<T>(props: {
  /** What the rows are, in the plural. */
  readonly label: string;
  readonly rows: readonly T[];
  readonly keyOf: (row: T) => string;
  /** Titles and cells, from left to right. A column without a title holds what can be done. */
  readonly columns: readonly (readonly [title: string, cell: (row: T) => ReactNode])[];
  readonly empty: ReactNode;
}): ReactNode {
  const { label, rows, keyOf, columns } = props;
  if (rows.length === 0) return <Empty>{props.empty}</Empty>;
  return (
    <div className="scroll" tabIndex={0} role="region" aria-label={label}>
      <table>
        <thead>
          <tr>
            {columns.map(([title]) => (
              <th key={title}>{title || <span className="hidden">What can be done</span>}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, MAX_ROWS).map((row) => (
            <tr key={keyOf(row)} data-row={keyOf(row)}>
              {columns.map(([title, cell], index) =>
                index === 0 ? (
                  <th key={title} scope="row">
                    {cell(row)}
                  </th>
                ) : (
                  <td key={title}>
                    {title === "" ? <div className="row end">{cell(row)}</div> : cell(row)}
                  </td>
                ),
              )}
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length > MAX_ROWS && (
        <p className="faint">{formatNumber(rows.length - MAX_ROWS)} more.</p>
      )}
    </div>
  );
}
