import { useCallback } from "react";
import { useSearchParams } from "wouter";

/** A value that stands in the address, so that a link shows what is seen. Empty: it does not stand there. The setter stays the same. */
export function useUrlState(name: string): [string, (value: string) => void] {
  const [params, setParams] = useSearchParams();
  const set = useCallback(
    (value: string): void => {
      setParams(
        (before) => {
          const next = new URLSearchParams(before);
          if (value === "") next.delete(name);
          else next.set(name, value);
          return next;
        },
        { replace: true },
      );
    },
    [name, setParams],
  );
  return [params.get(name) ?? "", set];
}
