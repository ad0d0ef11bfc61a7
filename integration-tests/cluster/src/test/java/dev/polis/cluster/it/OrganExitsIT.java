package dev.polis.cluster.it;

import dev.polis.cluster.it.OrganFaults.Fault;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Swaps each organ of a real node under writers while its predecessor ends the node's process. It
 * has the properties of {@link OrganFaultsIT}.
 */
@Tag("long")
class OrganExitsIT {

  @TempDir static Path directory;
  private static OrganFaults faults;

  @BeforeAll
  static void start() throws Exception {
    faults = OrganFaults.of(directory, "127.0.36.2");
  }

  @AfterAll
  static void stop() {
    if (faults != null) {
      faults.close();
    }
  }

  static List<String> organs() throws IOException {
    return OrganFaults.organs();
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("organs")
  @DisplayName(
      "an organ whose predecessor ends the process is swapped after the next start: no acknowledged"
          + " write is lost, nothing is left")
  void succeeds(String organ) throws Exception {
    faults.swap(organ, Fault.EXITS);
  }
}
