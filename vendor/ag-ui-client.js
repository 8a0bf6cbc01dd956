// The parts of the reference client that the playground uses.

import "./without-eval.mjs"; // first: the client makes its schemas when it is loaded

export {
  CompatibilityBoundary,
  defaultApplyEvents,
  enforceEvents,
  enforceOutgoingInput,
  parseSSEStream,
  runHttpRequest,
  transformChunks,
  verifyEvents,
} from "@ag-ui/client";
export { bufferTime, catchError, EMPTY, from, mergeMap, Subject, tap, throwError } from "rxjs";
