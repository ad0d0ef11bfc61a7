package dev.polis.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class KilledProcessTest {

  @TempDir private Path directory;

  private Optional<String> killed(String note) throws Exception {
    return KilledProcess.of(Files.writeString(directory.resolve("note"), note));
  }

  @Test
  @DisplayName("a process that left its note was killed, with what the kernel's log says of it")
  void killed() throws Exception {
    String how =
        killed("boot %s\nmachine 4\nprocess 4194305\n".formatted(Proc.bootId())).orElseThrow();
    assertTrue(
        how.startsWith(
            "its process 4194305 was ended by a signal like 9 (SIGKILL), which leaves no report: "),
        how);
    assertTrue(
        how.matches(".*: (?:a person or another program sent it|whether the kernel).*"), how);
  }

  @Test
  @DisplayName("a process of another run of the machine ended with the machine")
  void machineStopped() throws Exception {
    String how = killed("boot another\nprocess 17\n").orElseThrow();
    assertTrue(how.startsWith("its process 17 ran when the machine stopped"), how);
  }

  @Test
  @DisplayName("without a note, or with another content, nothing is known")
  void noNote() throws Exception {
    assertEquals(Optional.empty(), KilledProcess.of(directory.resolve("absent")));
    assertEquals(Optional.empty(), killed("process many\n"));
  }
}
