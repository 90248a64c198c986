import type { ValueForm } from "propylon/panels";
import type { ReactNode } from "react";
import { Loaded } from "../parts/loaded.tsx";
import { Table, type Column } from "../parts/table.tsx";
import { valueAt } from "../kit/pointer.ts";
import { Actions } from "./actions.tsx";
import { Cell } from "./cell.tsx";
import { useFrom } from "./use-from.ts";
import type { Context, ViewOf } from "./view.ts";

/** Rows with their actions. */
export function TableView(props: {
  readonly view: ViewOf<"table">;
  readonly title: string;
  readonly context: Context;
}): ReactNode {
  const { view, title, context } = props;
  const query = useFrom(view.from, view.live, context);
  return (
    <Loaded query={query} what="The list">
      {(data) => (
        <Table
          label={title}
          rows={toRows(valueAt(data, view.rows))}
          keyOf={keyOf}
          columns={columnsOf(view, context)}
          empty={view.empty ?? "There is nothing yet."}
        />
      )}
    </Loaded>
  );
}

function columnsOf(
  { columns, actions }: ViewOf<"table">,
  context: Context,
): readonly Column<unknown>[] {
  const shown = columns.map(({ label, value, as }): Column<unknown> => [
    label,
    (row) => <Cell value={valueAt(row, value)} as={as} />,
    isNumber(as) ? "number" : undefined,
  ]);
  if (!actions) return shown;
  return [...shown, ["", (row) => <Actions actions={actions} row={row} context={context} />]];
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

function isNumber(as: ValueForm | undefined): boolean {
  return as === "number" || as === "duration" || as === "bytes";
}
