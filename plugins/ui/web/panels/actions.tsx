import { useState, type ReactNode } from "react";
import { Asked } from "../form/asked.tsx";
import { Act } from "../parts/act.tsx";
import { Secret, secretAt } from "../parts/secret.tsx";
import { Words } from "../parts/text.tsx";
import { valueAt } from "../pointer.ts";
import type { Params } from "../request.ts";
import { toText } from "../words.ts";
import type { Context, PanelAction } from "./view.ts";

/** What can be done with a row now. */
export function Actions(props: {
  readonly actions: readonly PanelAction[];
  readonly row: unknown;
  readonly context: Context;
}): ReactNode {
  // Not in the button: the row may be in another state afterwards, and has another one.
  const [secret, setSecret] = useState<string>();
  return (
    <>
      {props.actions
        .filter(({ when }) => fits(when, props.row))
        .map((action) => {
          const params = paramsOf(action.params, props.row, props.context);
          const onDone = (answer: unknown): void => setSecret(secretAt(answer, action.secret));
          const shared = { action, params, onDone };
          if (action.input === undefined) return <PlainAction key={action.label} {...shared} />;
          return <AskedAction key={action.label} {...shared} />;
        })}
      {secret !== undefined && <Secret text={secret} onClose={() => setSecret(undefined)} />}
    </>
  );
}

/** An action of one row. */
interface RowAction {
  readonly action: PanelAction;
  readonly params: Params;
  readonly onDone: (answer: unknown) => void;
}

/** An action that is one request. */
function PlainAction({ action, params, onDone }: RowAction): ReactNode {
  return (
    <Act
      route={action.route}
      params={params}
      body={action.body}
      what={action.label}
      tone="quiet"
      onDone={onDone}
      {...(action.confirm !== undefined && { confirm: <Words>{action.confirm}</Words> })}
    >
      <Words>{action.label}</Words>
    </Act>
  );
}

/** Whether a row is in a state that an action is for. */
function fits(when: PanelAction["when"] = {}, row: unknown): boolean {
  return Object.entries(when).every(([pointer, values]) =>
    values.some((value) => value === (valueAt(row, pointer) ?? null)),
  );
}

function paramsOf(
  pointers: Readonly<Record<string, string>> = {},
  row: unknown,
  context: Context,
): Params {
  const entries = Object.entries(pointers).map(([name, pointer]) => {
    const value = valueAt(row, pointer);
    return [name, typeof value === "number" ? value : toText(value)] as const;
  });
  return { ...context, ...Object.fromEntries(entries) };
}

/** An action that asks for something first. */
function AskedAction({ action, params, onDone }: RowAction): ReactNode {
  const { label, route, input, body, confirm } = action;
  const asked = { label, route, params, input, body, confirm, onDone };
  return <Asked {...asked} />;
}
