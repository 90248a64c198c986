import type { PanelNotice } from "propylon/panels";
import type { ReactNode } from "react";
import { writeJson } from "../kit/json.ts";
import { Hits } from "../parts/hits.tsx";
import { Words } from "../parts/text.tsx";
import { useAsk } from "../query.ts";
import type { Params, Route } from "../request.ts";
import { splitRoute } from "./view.ts";

/** Whom a request of a panel hits now, with what is filled in. */
export function Notice(props: {
  readonly about: Route;
  readonly params: Params | undefined;
  readonly value?: unknown;
}): ReactNode {
  const { route, query } = splitRoute(props.about);
  const filled = props.value === undefined ? {} : { value: writeJson(props.value) };
  const { data } = useAsk<PanelNotice>(
    route,
    { ...props.params, ...query, ...filled },
    { isKept: true },
  );
  if (!data) return null;
  const { about, principals = [] } = data;
  return about.map(({ text, names = [] }, at) => (
    <Hits key={text} names={names} principals={at === about.length - 1 ? principals : []}>
      <Words>{text}</Words>
    </Hits>
  ));
}

/** The same below a form. */
export function noticeOf(
  about: Route | undefined,
  params: Params | undefined,
): ((value: unknown) => ReactNode) | undefined {
  return about && ((value) => <Notice about={about} params={params} value={value} />);
}
