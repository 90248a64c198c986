import type { ValueForm } from "propylon/panels";
import type { ReactNode } from "react";
import { Loaded } from "../parts/loaded.tsx";
import { Table, type Column } from "../parts/table.tsx";
import { Search } from "../parts/search.tsx";
import { fillIn, valueAt } from "../kit/pointer.ts";
import { useUrlState } from "../kit/url-state.ts";
import { toText } from "../kit/words.ts";
import { matches } from "../model.ts";
import { Actions } from "./actions.tsx";
import { Cell } from "./cell.tsx";
import { useFrom } from "./use-from.ts";
import type { Context, ViewOf } from "./view.ts";

/** Rows with their actions, those that are searched for, and what can be done without one. */
export function TableView(props: {
  readonly view: ViewOf<"table">;
  readonly title: string;
  readonly context: Context;
  readonly searchName: string;
}): ReactNode {
  const { view, title, context } = props;
  const { search, add, key } = view;
  const query = useFrom(view.from, view.live, context);
  const [sought, setSought] = useUrlState(props.searchName);
  return (
    <>
      {(search ?? add) && (
        <div className="row tools">
          {search && (
            <Search label={`Search ${title.toLowerCase()}`} value={sought} onChange={setSought} />
          )}
          {add && <Actions actions={add} row={undefined} context={context} live={view.live} />}
        </div>
      )}
      <Loaded query={query} what="The list">
        {(data) => {
          const all = toRows(valueAt(data, view.rows));
          const isSought = (row: unknown): boolean =>
            matches(sought, ...search!.map((pointer) => toText(valueAt(row, pointer))));
          return (
            <Table
              label={title}
              rows={search ? all.filter(isSought) : all}
              keyOf={key === undefined ? keyOf : (row) => fillIn(key, row)}
              columns={columnsOf(view, context)}
              empty={all.length > 0 ? "No matching rows." : (view.empty ?? "There is nothing yet.")}
            />
          );
        }}
      </Loaded>
    </>
  );
}

function columnsOf(
  { columns, actions, live }: ViewOf<"table">,
  context: Context,
): readonly Column<unknown>[] {
  const shown = columns.map(({ label, value, as }): Column<unknown> => [
    label,
    (row) => <Cell value={valueAt(row, value)} as={as} />,
    isNumber(as) ? "number" : undefined,
  ]);
  if (!actions) return shown;
  return [
    ...shown,
    ["", (row) => <Actions actions={actions} row={row} context={context} live={live} />],
  ];
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
