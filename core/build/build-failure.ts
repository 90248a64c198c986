import { issuesOf, issueText } from "../config/issue.ts";
import { isGatewayError, wordsOf } from "../errors.ts";

/** What is wrong with a gateway as a bundler shows it, which only knows messages: each problem with its place and next step. */
export function bundlerError(thrown: unknown): unknown {
  if (!isGatewayError(thrown)) return thrown;
  const issues = issuesOf(thrown).map(issueText);
  const text = issues.length > 0 ? issues.join("\n") : wordsOf(thrown);
  // Whoever reads it did nothing wrong in the code that the stack would show.
  return Object.assign(new Error(text.trim()), { stack: text.trim() });
}
