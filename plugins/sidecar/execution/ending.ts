import type { Failure } from "../message/failure.ts";
import type { TaskName } from "../message/owner.ts";

/** How one delivery ended. */
export type Ending = TaskName &
  (
    | {
        /** The runtime did it; `failed` is a result like any other. */
        readonly outcome: "completed" | "failed" | "input_required";
      }
    | {
        /** Its result was there already. */
        readonly outcome: "known";
      }
    | { readonly outcome: "dead"; readonly failure: Failure }
    | {
        /** It will be delivered again. */
        readonly outcome: "retried";
        readonly failure: Failure;
      }
    | {
        /** The grace time was over: somebody else gets it at once. */
        readonly outcome: "handed_back";
      }
  );
