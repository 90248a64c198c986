import type { ReactNode } from "react";
import { matches } from "../../model.ts";
import { Loaded } from "../../parts/loaded.tsx";
import { Search } from "../../parts/search.tsx";
import { Table, type Column } from "../../parts/table.tsx";
import { useUrlState } from "../../kit/url-state.ts";
import { useList, type Lists } from "./directory.ts";

/** A list of the directory: what can be done with all of it, and its rows, or those that are searched for. */
export function DirectoryList<K extends keyof Lists>(props: {
  readonly name: K;
  readonly keyOf: (row: Lists[K][number]) => string;
  readonly columns: readonly Column<Lists[K][number]>[];
  /** What stands above the rows. */
  readonly actions: ReactNode;
  /** Instead of rows, where there are none. */
  readonly none: string;
  /** What a search looks at, and its sentence when nothing fits. */
  readonly search?: {
    readonly textsOf: (row: Lists[K][number]) => readonly (string | null)[];
    readonly none: string;
  };
}): ReactNode {
  const { name, keyOf, columns, search } = props;
  const query = useList(name);
  const [sought, setSought] = useUrlState("q");
  return (
    <>
      <div className="row tools">
        {search && <Search label={`Search ${name}`} value={sought} onChange={setSought} />}
        {props.actions}
      </div>
      <Loaded query={query} what={`The ${name}`}>
        {(data) => {
          const all = data[name] as readonly Lists[K][number][];
          return (
            <Table
              label={name[0]!.toUpperCase() + name.slice(1)}
              rows={search ? all.filter((row) => matches(sought, ...search.textsOf(row))) : all}
              keyOf={keyOf}
              columns={columns}
              empty={search && all.length > 0 ? search.none : props.none}
            />
          );
        }}
      </Loaded>
    </>
  );
}
