import { useState, type ReactNode } from "react";
import { Secret } from "../../parts/secret.tsx";

/** The secret that the last change of a view made, until it is closed. */
export function useSecret(): {
  readonly show: (title: string, text: string) => void;
  readonly shown: ReactNode;
} {
  const [secret, setSecret] = useState<{ readonly title: string; readonly text: string }>();
  const shown = secret && <Secret {...secret} onClose={() => setSecret(undefined)} />;
  return { show: (title, text) => setSecret({ title, text }), shown };
}
