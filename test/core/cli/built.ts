import { build } from "../../../scripts/ready.mjs";

/** vitest global setup cannot be used for one folder; the build is skipped when it is fresh. */
build();
