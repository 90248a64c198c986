import type { ReactNode } from "react";
import { Loaded } from "../parts/loaded.tsx";
import { Words } from "../parts/text.tsx";
import { valueAt } from "../kit/pointer.ts";
import { Actions } from "./actions.tsx";
import { Cell } from "./cell.tsx";
import { useFrom } from "./use-from.ts";
import type { Context, ViewOf } from "./view.ts";

/** One thing, value by value. */
export function FieldsView(props: {
  readonly view: ViewOf<"fields">;
  readonly context: Context;
}): ReactNode {
  const { view, context } = props;
  const query = useFrom(view.from, view.live, context);
  return (
    <Loaded query={query} what="The values">
      {(data) => (
        <>
          <dl className="facts">
            {view.fields.map(({ label, value, as }) => (
              <div key={label}>
                <dt>
                  <Words>{label}</Words>
                </dt>
                <dd>
                  <Cell value={valueAt(data, value)} as={as} />
                </dd>
              </div>
            ))}
          </dl>
          {view.actions && (
            <div className="row">
              <Actions actions={view.actions} row={data} context={context} live={view.live} />
            </div>
          )}
        </>
      )}
    </Loaded>
  );
}
