package dev.polis.node.places;

import dev.polis.logtree.Log;
import dev.polis.logtree.Severity;
import java.util.List;
import java.util.function.Consumer;

/** Logs in every way; the test runs it compiled and rewritten. */
public final class Sample implements Consumer<Log> {
  @Override
  public void accept(Log log) {
    log.info("plain");
    log.warning("with %s and %d", "arguments", 2);
    log.error(
        "over %s lines",
        List.of("several").stream().map(each -> each + "!").findFirst().orElse("no"));
    log.fatal("in a row");
    log.log(Severity.INFO, "on one line");
    Runnable later = () -> log.info("in a lambda");
    later.run();
    for (Object each : List.of("text", 7)) {
      log.v(0).info("%s", each instanceof String text && !text.isEmpty() ? text : "other");
    }
    Log here = log.here();
    here.info("where here was said");
    onBehalf(log);
    try {
      throw new IllegalStateException("caught");
    } catch (IllegalStateException e) {
      log.error("after: %s", e.getMessage());
    }
  }

  private static void onBehalf(Log log) {
    log.withAddedStackDepth(1).info("on behalf of the caller");
  }
}
