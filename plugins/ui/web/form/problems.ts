import { createContext, useContext, useMemo, useState } from "react";
import type { RequestFailure } from "../request.ts";
import { isObject } from "./schema.ts";

/** What the gateway found wrong with what was sent, by the path of the field: names joined by dots. */
export type Problems = Readonly<Record<string, string>>;

const NONE: Problems = {};

/** The problems of the form around a field. */
export const ProblemsContext = createContext<Problems>(NONE);

/** The problems of fields that a refusal names. */
export function useProblems(error: RequestFailure | null): Problems {
  return useMemo(() => {
    const all = error?.data?.["problems"];
    if (!Array.isArray(all)) return NONE;
    return Object.fromEntries(
      all.filter(isObject).map(({ path, message }) => [String(path), String(message)]),
    );
  }, [error]);
}

/** What is wrong with one field, until it is changed: as the browser says it, or the gateway. */
export function useProblem(path: string): {
  readonly problem: string;
  readonly say: (words: string) => void;
  readonly forget: () => void;
} {
  const all = useContext(ProblemsContext);
  const [own, setOwn] = useState("");
  const [old, setOld] = useState<Problems>();
  const told = old === all ? "" : (all[path] ?? "");
  const forget = (): void => {
    setOwn("");
    setOld(all);
  };
  return { problem: own || told, say: setOwn, forget };
}
