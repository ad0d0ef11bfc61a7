package dev.polis.plugins.store;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SwapNotesTest {

  @Test
  @DisplayName("a reason of any length takes little room in the notes, and is the same when read")
  void longReason(@TempDir Path folder) throws Exception {
    SwapNotes notes = SwapNotes.of(PluginStore.open(folder));
    Digest target = Digest.of(new byte[0]);
    SwapRecord begun =
        new SwapRecord(Instant.EPOCH, "ann", "swap", 1, target, "begun", "", Set.of());

    SwapRecord ended = begun.as("reverted", "it failed" + " ".repeat(100_000));
    notes.ended(ended);

    assertEquals("it failed" + " ".repeat(1990) + "…", ended.reason());
    assertEquals(List.of(ended), notes.history());
  }

  @Test
  @DisplayName("an invalid byte costs only its own line, in each of the notes")
  void noText(@TempDir Path folder) throws Exception {
    PluginStore store = PluginStore.open(folder);
    SwapNotes notes = SwapNotes.of(store);
    Digest target = Digest.of(new byte[0]);
    SwapRecord swap =
        new SwapRecord(Instant.EPOCH, "ann", "swap", 1, target, "reverted", "ä", Set.of());
    notes.ended(swap);
    notes.failed(swap);
    notes.cutOff(swap);
    notes.start(1);
    notes.underWay(swap);
    for (String file : List.of("swap", "history", "failed", "cut-off", "starts")) {
      Files.write(
          store.folder().resolve(file), new byte[] {(byte) 0xff, '\n'}, StandardOpenOption.APPEND);
    }

    assertEquals(List.of(swap), notes.history());
    assertEquals(List.of(swap), notes.failed());
    assertEquals(2, notes.cutOff(swap));
    assertEquals(1, notes.start(1));
    assertEquals(Optional.empty(), notes.underWay(), "its end is in the history");
  }
}
