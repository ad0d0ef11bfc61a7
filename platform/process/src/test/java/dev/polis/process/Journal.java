package dev.polis.process;

import dev.polis.logtree.LogPayload;
import dev.polis.logtree.LogQuery;
import dev.polis.logtree.LogReader;
import dev.polis.logtree.LogTree;
import java.util.List;

/** Returns the entries of a journal as text. */
final class Journal {
  private Journal() {}

  static List<String> lines(LogTree logs, String dn) {
    try (LogReader reader = logs.read(LogQuery.of(dn).backlogAll())) {
      return reader.backlog().stream()
          .map(
              entry ->
                  switch (entry.payload()) {
                    case LogPayload.Raw raw -> raw.data();
                    case LogPayload.Leveled leveled -> leveled.message();
                  })
          .toList();
    }
  }
}
