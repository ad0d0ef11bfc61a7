package dev.polis.scripts.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.Finished;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Provides programs that the machine lacks, from a package source of the test's own. */
class ProgramsTest {

  /** Declares the programs of this test, as {@code packages.sh} declares its own. */
  private static final String DECLARED =
      """
      PACKAGE_OF[polis-hello]=polis-hello-bin
      PACKAGE_OF[polis-mounter]=polis-mounter
      UNPACKED_RUN+=" polis-hello "
      """;

  @TempDir Path directory;
  private ScriptFolder scripts;
  private PackageSource source;

  @BeforeEach
  void makePackages() throws Exception {
    scripts = ScriptFolder.in(directory);
    // All users but root unpack.
    scripts.program("id", "[[ \"$1\" == -u ]] && echo 1000 || exec /usr/bin/id \"$@\"");
    source = new PackageSource(scripts);
    String library = "usr/lib/x86_64-linux-gnu/libpolishello.txt";
    String program =
        "for folder in ${LD_LIBRARY_PATH//:/ }; do cat $folder/libpolishello.txt; echo \"$@\"; exit; done";
    scripts.executable("bin/usr/bin/polis-hello", program);
    Files.createDirectories(directory.resolve("lib").resolve(library).getParent());
    Files.writeString(directory.resolve("lib").resolve(library), "Hello from the library");
    source.add("bin", "polis-hello-bin", "libpolishello");
    source.add("lib", "libpolishello", "");
  }

  @Test
  @DisplayName(
      "A missing program is unpacked without root, with the libraries the machine lacks, and runs")
  void unpacked() throws Exception {
    Finished run =
        scripts.functions(
            DECLARED + "provide_programs $POLIS_CACHE polis-hello; polis-hello 'a b'");

    run.requireSuccess("polis-hello was not provided");
    assertEquals("Hello from the librarya b\n", run.out());
    assertEquals("polis: fetching the packages polis-hello-bin for polis-hello\n", run.err());

    source.lose();
    Finished again =
        scripts.functions(
            DECLARED + "provide_programs $POLIS_CACHE polis-hello; polis-hello again");
    assertEquals("Hello from the libraryagain\n", again.out());
    assertEquals("", again.err(), "it is fetched once");
  }

  @Test
  @DisplayName("A program on the PATH is used, and nothing is fetched")
  void onThePath() throws Exception {
    scripts.program("polis-hello", "echo mine");
    Finished run =
        scripts.functions(DECLARED + "provide_programs $POLIS_CACHE polis-hello; polis-hello");

    assertEquals("mine\n", run.requireSuccess("polis-hello").out());
    assertEquals("", run.err());
    assertFalse(Files.exists(directory.resolve(".polis")));
  }

  @Test
  @DisplayName("Unsigned packages are not unpacked; one line reports it, and the start continues")
  void unsigned() throws Exception {
    source.distrust();
    Finished run =
        scripts.functions(DECLARED + "provide_programs $POLIS_CACHE polis-hello; echo on");

    assertEquals("on\n", run.requireSuccess("going on").out());
    assertTrue(
        run.err()
            .endsWith(
                "polis: continuing without polis-hello (packages polis-hello-bin):"
                    + " ./polis could not fetch Debian's packages, see "
                    + directory.resolve(".polis/packages.log")
                    + "\n"),
        run::all);
    assertTrue(
        Files.readString(directory.resolve(".polis/packages.log")).contains("not signed"),
        run::all);
    assertFalse(Files.exists(directory.resolve(".polis/programs/bin/polis-hello")));
  }

  @Test
  @DisplayName(
      "A program that an ordinary user could not use is named with its package, and not fetched")
  void onlyForRoot() throws Exception {
    Finished run = scripts.functions(DECLARED + "provide_programs $POLIS_CACHE polis-mounter");

    assertEquals(
        "polis: continuing without polis-mounter (packages polis-mounter): only root can install them\n",
        run.requireSuccess("going on").err());
  }

  @Test
  @DisplayName("A package that would start a service of the machine is unpacked for root, too")
  void unpackedForRootToo() throws Exception {
    scripts.program("id", "[[ \"$1\" == -u ]] && echo 0 || exec /usr/bin/id \"$@\"");
    Finished run =
        scripts.functions(
            DECLARED
                + "UNPACKED_ONLY+=' polis-hello '; provide_programs $POLIS_CACHE polis-hello; polis-hello");

    assertEquals(
        "Hello from the library\n", run.requireSuccess("polis-hello was not provided").out());
    assertEquals("polis: fetching the packages polis-hello-bin for polis-hello\n", run.err());
    assertTrue(Files.isExecutable(directory.resolve(".polis/programs/bin/polis-hello")));
  }

  @Test
  @DisplayName("Root installs missing programs with apt-get, and the packages are named")
  void rootInstalls() throws Exception {
    scripts.program("id", "echo 0");
    scripts.program(
        "apt-get",
        """
        echo "$*" >>%1$s/calls
        [[ "$*" != *install* ]] || { printf '#!/bin/sh\\necho installed\\n' >%1$s/programs/polis-mounter
        chmod +x %1$s/programs/polis-mounter; }
        """
            .formatted(directory));
    Finished run =
        scripts.functions(DECLARED + "provide_programs $POLIS_CACHE polis-mounter; polis-mounter");

    assertEquals("installed\n", run.requireSuccess("polis-mounter").out());
    assertEquals("polis: installing the packages polis-mounter for polis-mounter\n", run.err());
    assertEquals(
        """
        -q update
        -q -o DPkg::Lock::Timeout=60 install -y --no-install-recommends polis-mounter
        """,
        Files.readString(directory.resolve("calls")));
  }

  @Test
  @DisplayName("A start provides the programs of its data volume, and none for an unencrypted one")
  void programsOfVolumes() throws Exception {
    Path state = Files.createDirectories(directory.resolve("n"));
    assertEquals("", storagePrograms(state, "insecure"));
    assertEquals("", storagePrograms(state, ""), "without root, the default is insecure");
    assertTrue(storagePrograms(state, "ENCRYPTED").contains("cryptsetup"));

    Files.createDirectory(state.resolve("data"));
    assertEquals("", storagePrograms(state, "encrypted"), "present programs count");
    Files.createDirectory(state.resolve("volume.gocryptfs"));
    assertFalse(storagePrograms(state, "").isEmpty());
  }

  private String storagePrograms(Path state, String security) throws Exception {
    Finished run = scripts.functions("storage_programs " + state + " '" + security + "'");
    return run.requireSuccess("storage_programs").out();
  }
}
