package dev.polis.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.files.DirectoryPlacement;
import dev.polis.files.FilePlacement;
import dev.polis.files.FolderPlacement;
import dev.polis.files.Mode;
import dev.polis.files.OrganFolder;
import dev.polis.files.layout.Root;
import dev.polis.fixtures.Needs;
import dev.polis.logtree.LogTree;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ChildOwnerTest {

  private static final Path PROGRAM = Path.of(Commands.located(List.of("sh")).getFirst());
  private static final byte[] TEXT = "text".getBytes(StandardCharsets.UTF_8);

  @TempDir private Path top;
  private FolderPlacement folder;

  @BeforeEach
  void makeWay() throws Exception {
    Root root = Root.at(top.resolve("state"));
    folder = root.data().organFolder(new OrganFolder("child", Mode.PASSABLE_DIRECTORY));
    folder.create();
    root.letOthersPass();
    root.data().letOthersPass();
    Files.setPosixFilePermissions(top, PosixFilePermissions.fromString("rwx--x--x"));
  }

  private ChildOwner owner() throws Exception {
    return ChildOwner.of(Account.ETCD, PROGRAM, folder.path(), true);
  }

  private static Object user(Path path) throws Exception {
    return Files.getAttribute(path, "unix:uid", LinkOption.NOFOLLOW_LINKS);
  }

  @Test
  @DisplayName("each child has an account of its own, in a range that machines do not use")
  void accounts() {
    List<Integer> numbers = Arrays.stream(Account.values()).map(Account::number).toList();
    assertEquals(numbers.size(), numbers.stream().distinct().count());
    assertTrue(numbers.stream().allMatch(n -> n >= 60_578 && n <= 61_183), numbers::toString);
  }

  @Test
  @DisplayName("a child with reachable folders gets its account and the files that it reads")
  void ownFiles() throws Exception {
    Needs.root("giving a file to another account");
    FilePlacement old = folder.declareFile("old", Mode.SECRET);
    FilePlacement later = folder.declareFile("later", Mode.SECRET);
    old.write(TEXT);
    Files.setPosixFilePermissions(old.path(), PosixFilePermissions.fromString("rw-r--r--"));
    ChildOwner owner = owner();

    owner.give(old);
    owner.give(later);
    later.write(TEXT);
    old.write(TEXT);

    assertEquals(Account.ETCD.text(), owner.account());
    assertFalse(owner.isHeldBack());
    for (FilePlacement each : List.of(old, later)) {
      assertEquals(Account.ETCD.number(), user(each.path()));
      assertEquals(
          "rw-------", PosixFilePermissions.toString(Files.getPosixFilePermissions(each.path())));
    }
    assertEquals(0, user(folder.path()), "the folder is the node's");
  }

  @Test
  @Tag("attack")
  @DisplayName(
      "of a directory, neither a link's target nor a file with another hard link changes its owner")
  void onlyItsOwn() throws Exception {
    Needs.root("giving a file to another account");
    DirectoryPlacement inner = folder.declareDirectory("inner", Mode.PRIVATE_DIRECTORY);
    Path directory = inner.create();
    Path inside = Files.createDirectories(directory.resolve("a/b")).resolve("file");
    Files.write(inside, TEXT);
    Path others = Files.write(top.resolve("others"), TEXT);
    Files.createLink(directory.resolve("hard"), others);
    Path elsewhere = Files.createDirectory(top.resolve("elsewhere"));
    Path linked = Files.write(elsewhere.resolve("file"), TEXT);
    Files.createSymbolicLink(directory.resolve("soft"), elsewhere);

    try (var processes = ProcessManager.open(top.resolve("processes"), LogTree.create())) {
      owner().give(inner, processes, "etcd");
    }

    assertEquals(Account.ETCD.number(), user(directory));
    assertEquals(Account.ETCD.number(), user(inside.getParent()));
    assertEquals(Account.ETCD.number(), user(inside));
    for (Path other : List.of(others, elsewhere, linked)) {
      assertEquals(0, user(other), other::toString);
    }
  }

  @Test
  @DisplayName(
      "files that an earlier version made as root in a child's directory get the child's account")
  void rolledBack() throws Exception {
    Needs.root("giving a file to another account");
    DirectoryPlacement inner = folder.declareDirectory("inner", Mode.PRIVATE_DIRECTORY);
    Path deep = Files.createDirectories(inner.create().resolve("a"));
    inner.giveTo(Account.ETCD.number());
    assertTrue(inner.isOf(Account.ETCD.number()));
    Path late = Files.write(deep.resolve("late"), TEXT);
    assertFalse(inner.isOf(Account.ETCD.number()));

    try (var processes = ProcessManager.open(top.resolve("processes"), LogTree.create())) {
      owner().give(inner, processes, "etcd");
    }

    assertEquals(Account.ETCD.number(), user(late));
  }

  @Test
  @Tag("attack")
  @DisplayName("a directory in which all other users may write is closed to them")
  void openDirectory() throws Exception {
    Needs.root("giving a file to another account");
    DirectoryPlacement inner = folder.declareDirectory("inner", Mode.PRIVATE_DIRECTORY);
    Path deep = Files.createDirectories(inner.create().resolve("a"));
    Files.setPosixFilePermissions(deep, PosixFilePermissions.fromString("rwxrwxrwx"));

    inner.giveTo(Account.ETCD.number());

    assertEquals("rwxr-xr-x", PosixFilePermissions.toString(Files.getPosixFilePermissions(deep)));
  }

  @Test
  @DisplayName("the first folder that no account may pass is named, and root owns the files again")
  void unreachable() throws Exception {
    Needs.root("giving a file to another account");
    FilePlacement file = folder.declareFile("file", Mode.SECRET);
    file.write(TEXT);
    owner().give(file);
    Files.setPosixFilePermissions(top, PosixFilePermissions.fromString("rwx------"));
    ChildOwner owner = owner();

    owner.give(file);

    assertEquals("", owner.account());
    assertEquals(
        "other accounts cannot get to %s, as %s lets none of them pass"
            .formatted(folder.path(), top),
        owner.obstacle());
    assertEquals(
        "chmod o+x %s (others may then pass, but not look inside), and restart the node"
            .formatted(top),
        owner.remedy());
    assertEquals(0, user(file.path()));
  }

  @Test
  @DisplayName("an account sets the clock with one capability, and gains no other")
  void clock() throws Exception {
    Needs.root("running a process as another account");
    Commands.Result status =
        new Commands()
            .run(
                Duration.ofSeconds(10),
                owner().clockCommand(List.of(PROGRAM.toString(), "-c", "cat /proc/self/status")));

    // CAP_SYS_TIME is capability number 25.
    for (String line : List.of("CapEff:\t0000000002000000", "CapPrm:\t0000000002000000")) {
      assertTrue(status.output().contains(line), status::output);
    }
    assertTrue(status.output().contains("NoNewPrivs:\t1"), status::output);
  }

  @Test
  @DisplayName("an account listens at a port below 1024 with one capability, and gains no other")
  void lowPort() throws Exception {
    Needs.root("running a process as another account");
    Commands.Result status =
        new Commands()
            .run(
                Duration.ofSeconds(10),
                owner()
                    .listeningCommand(List.of(PROGRAM.toString(), "-c", "cat /proc/self/status")));

    // CAP_NET_BIND_SERVICE is capability number 10.
    for (String line : List.of("CapEff:\t0000000000000400", "CapPrm:\t0000000000000400")) {
      assertTrue(status.output().contains(line), status::output);
    }
    assertTrue(status.output().contains("Uid:\t60902\t60902"), status::output);
    assertTrue(status.output().contains("NoNewPrivs:\t1"), status::output);
  }
}
