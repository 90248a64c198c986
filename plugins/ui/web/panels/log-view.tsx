import type { ReactNode } from "react";
import { Loaded } from "../parts/loaded.tsx";
import { Empty } from "../parts/page.tsx";
import { Passage } from "../parts/text.tsx";
import { valueAt } from "../kit/pointer.ts";
import { toLabel, toText } from "../kit/words.ts";
import { useFrom } from "./use-from.ts";
import type { Context, ViewOf } from "./view.ts";

/** Lines, one below the other. */
export function LogView(props: {
  readonly view: ViewOf<"log">;
  readonly title: string;
  readonly context: Context;
}): ReactNode {
  const { view, title, context } = props;
  const query = useFrom(view.from, view.live, context);
  return (
    <Loaded query={query} what="The lines">
      {(data) => {
        const lines = valueAt(data, view.lines);
        const text = Array.isArray(lines) ? lines.map(toLabel).join("\n") : toText(lines);
        return text === "" ? (
          <Empty>There is no line yet.</Empty>
        ) : (
          <Passage text={text} label={title} />
        );
      }}
    </Loaded>
  );
}
