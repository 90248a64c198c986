import { replaceEqualDeep } from "@tanstack/react-query";
import { memo, useDeferredValue, type ReactNode } from "react";
import { formatNumber } from "../kit/words.ts";
import { Empty } from "./page.tsx";
import { Words } from "./text.tsx";

/** Rows that a page shows at most; a filter finds the others. */
const MAX_ROWS = 1_000;
/** As many as a screen has; the others are drawn while one reads. */
const FIRST_ROWS = 40;

/** A title and the cells below it. A column without a title holds what can be done. */
export type Column<T> = readonly [
  title: string,
  cell: (row: T) => ReactNode,
  kind?: "number" | undefined,
];

interface Content<T> {
  readonly rows: readonly T[];
  readonly keyOf: (row: T, index: number) => string;
  /** From left to right. Those that stay the same array draw a row again only when it changed. */
  readonly columns: readonly Column<T>[];
  /** Which of them names a row; the first when it is not said. */
  readonly nameAt?: number;
}

/** Rows of one kind. */
export function Table<T>(
  props: Content<T> & {
    /** What the rows are, in the plural. */
    readonly label: string;
    /** Instead of rows, where there are none. */
    readonly empty?: ReactNode;
    readonly isDense?: boolean;
  },
): ReactNode {
  const { label, rows, keyOf, columns, nameAt = 0, empty, isDense = false } = props;
  const wanted = { rows: rows.slice(0, MAX_ROWS), keyOf, columns, nameAt };
  const drawn = useDeferredValue(wanted, { ...wanted, rows: rows.slice(0, FIRST_ROWS) });
  if (rows.length === 0) return <Empty>{empty}</Empty>;
  const isGrowing = drawn.rows.length < wanted.rows.length;
  return (
    <div className="scroll" tabIndex={0} role="region" aria-label={label}>
      <table
        className={isDense ? "cards-if-narrow dense" : "cards-if-narrow"}
        aria-busy={isGrowing || undefined}
      >
        <thead>
          <tr>
            {columns.map(([title, , kind]) => (
              <th key={title} className={kind}>
                {title === "" ? (
                  <span className="hidden">What can be done</span>
                ) : (
                  <Words>{title}</Words>
                )}
              </th>
            ))}
          </tr>
        </thead>
        <Rows {...drawn} />
      </table>
      {rows.length > MAX_ROWS && (
        <p className="faint">{formatNumber(rows.length - MAX_ROWS)} more.</p>
      )}
    </div>
  );
}

/** Drawn again for new content alone, not for what is about to come. */
const Rows = memo(function Rows<T>({ rows, keyOf, ...shared }: Required<Content<T>>): ReactNode {
  return (
    <tbody>
      {rows.map((row, index) => {
        const key = keyOf(row, index);
        return (
          <Row key={key} id={key} row={row} {...(shared as Pick<RowProps, "columns" | "nameAt">)} />
        );
      })}
    </tbody>
  );
}) as <T>(props: Required<Content<T>>) => ReactNode;

interface RowProps {
  readonly id: string;
  readonly row: unknown;
  readonly columns: readonly Column<unknown>[];
  readonly nameAt: number;
}

const Row = memo(function Row({ id, row, columns, nameAt }: RowProps): ReactNode {
  return (
    <tr data-row={id}>
      {columns.map(([title, cell, kind], index) =>
        index === nameAt ? (
          <th key={title} scope="row" className={kind}>
            {cell(row)}
          </th>
        ) : (
          <td key={title} className={kind} data-label={title || undefined}>
            {title === "" ? <div className="row end">{cell(row)}</div> : cell(row)}
          </td>
        ),
      )}
    </tr>
  );
}, isSame);

/** Every answer is made of new objects; a list that moved on by a few rows has most of them still. */
function isSame(before: RowProps, after: RowProps): boolean {
  return before.columns === after.columns && replaceEqualDeep(before.row, after.row) === before.row;
}
