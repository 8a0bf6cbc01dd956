// zod tries `new Function` unless it is told not to: the Content-Security-Policy of the page forbids that, and browsers
// log it.

import { config } from "zod/v4/core";

config({ jitless: true });
