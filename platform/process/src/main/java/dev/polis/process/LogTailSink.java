package dev.polis.process;

import dev.polis.logtree.LogPayload;
import dev.polis.logtree.LogTree;
import dev.polis.logtree.convert.LineConverter;
import java.util.function.Consumer;

/** Delivers lines of a program to a journal; what its converter does not know is kept as it is. */
record LogTailSink(LogTree logs, String dn, LineConverter converter)
    implements Consumer<LogPayload.Raw> {
  @Override
  public void accept(LogPayload.Raw line) {
    logs.append(dn, line.cut() ? line : converter.convert(line.data()).orElse(line));
  }
}
