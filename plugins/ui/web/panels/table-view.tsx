import type { ReactNode } from "react";
import { Loaded } from "../parts/loaded.tsx";
import { Empty } from "../parts/page.tsx";
import { Words } from "../parts/text.tsx";
import { valueAt } from "../pointer.ts";
import { Actions } from "./actions.tsx";
import { Cell } from "./cell.tsx";
import { useFrom } from "./use-from.ts";
import type { Context, Form, PanelView } from "./view.ts";

/** Rows of a table; a route pages by itself, or it is too long for a panel. */
const MAX_ROWS = 1_000;

/** Rows with their actions. */
export function TableView(props: {
  readonly view: NonNullable<PanelView["table"]>;
  readonly title: string;
  readonly context: Context;
}): ReactNode {
  const { view, title, context } = props;
  const query = useFrom(view.from, view.live, context);
  return (
    <Loaded query={query} what="The list">
      {(data) => {
        const rows = toRows(valueAt(data, view.rows));
        if (rows.length === 0) return <Empty>{view.empty ?? "There is nothing yet."}</Empty>;
        return (
          <div className="scroll" tabIndex={0} role="region" aria-label={title}>
            <table>
              <thead>
                <tr>
                  {view.columns.map(({ label, as }) => (
                    <th key={label} className={isNumber(as) ? "number" : ""}>
                      <Words>{label}</Words>
                    </th>
                  ))}
                  {view.actions && (
                    <th>
                      <span className="hidden">What can be done</span>
                    </th>
                  )}
                </tr>
              </thead>
              <tbody>
                {rows.slice(0, MAX_ROWS).map((row, index) => (
                  <tr key={keyOf(row, index)}>
                    {view.columns.map(({ label, value, as }) => (
                      <td key={label} className={isNumber(as) ? "number" : ""}>
                        <Cell value={valueAt(row, value)} as={as} />
                      </td>
                    ))}
                    {view.actions && (
                      <td>
                        <div className="row end">
                          <Actions actions={view.actions} row={row} context={context} />
                        </div>
                      </td>
                    )}
                  </tr>
                ))}
              </tbody>
            </table>
            {rows.length > MAX_ROWS && <p className="faint">{rows.length - MAX_ROWS} more.</p>}
          </div>
        );
      }}
    </Loaded>
  );
}

/** A list, or a map whose keys are put into its rows as `_key`. */
function toRows(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).map(([key, row]) =>
    typeof row === "object" && row !== null
      ? { _key: key, ...row }
      : { _key: key, value: row as unknown },
  );
}

function keyOf(row: unknown, index: number): string {
  const id = valueAt(row, "/id") ?? valueAt(row, "/_key") ?? valueAt(row, "/name");
  return typeof id === "string" ? id : String(index);
}

function isNumber(as: Form | undefined): boolean {
  return as === "number" || as === "duration" || as === "bytes";
}
