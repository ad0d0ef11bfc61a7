package dev.polis.cluster.it.docs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.polis.fixtures.Finished;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.DynamicContainer;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.CleanupMode;
import org.junit.jupiter.api.io.TempDir;

/** Reads every page in each tier, and runs its commands in the fuller tiers. */
class DocumentationIT {

  private static final Path REPOSITORY = Path.of(System.getProperty("polis.repository"));

  /** Addresses of 127/8, one for each page; the other integration tests use addresses below 90. */
  private static final int FIRST_ADDRESS = 1;

  @TempDir(cleanup = CleanupMode.ALWAYS)
  Path work;

  @TestFactory
  @DisplayName("the commands within sentences exist, and Java of the pages compiles")
  Stream<DynamicContainer> sentences() throws Exception {
    CommandCheck check = new CommandCheck(help());
    return Page.all(REPOSITORY).stream()
        .map(page -> DynamicContainer.dynamicContainer(page.name(), read(page, check)));
  }

  @TestFactory
  @Tag("full")
  @DisplayName("the commands of the pages run, and print the screens of the pages")
  Stream<DynamicContainer> screens() throws Exception {
    List<Page> pages = Page.all(REPOSITORY);
    CommandCheck check = new CommandCheck(help());
    List<DynamicContainer> containers = new ArrayList<>();
    for (int number = 0; number < pages.size(); number++) {
      Page page = pages.get(number);
      if (page.blocks().stream().anyMatch(Block::isScript)) {
        containers.add(
            DynamicContainer.dynamicContainer(
                page.name(), run(page, check, "127.92.1." + (FIRST_ADDRESS + number))));
      }
    }
    return containers.stream();
  }

  private static String help() throws IOException, InterruptedException {
    return Finished.of(
            List.of(REPOSITORY.resolve("polis").toString(), "help"),
            Map.of(),
            java.time.Duration.ofSeconds(20))
        .requireSuccess("./polis help")
        .out();
  }

  private Stream<DynamicTest> read(Page page, CommandCheck check) {
    return Stream.concat(
        Stream.of(
            DynamicTest.dynamicTest(
                "commands within sentences exist", () -> checkSpans(page, check))),
        page.blocks().stream()
            .filter(block -> block.language().equals("java"))
            .map(
                block ->
                    DynamicTest.dynamicTest(
                        block.place() + " compiles", () -> JavaBlock.compile(block, work))));
  }

  private Stream<DynamicTest> run(Page page, CommandCheck check, String address)
      throws IOException, InterruptedException {
    Path folder = work.resolve(page.name().replace('/', '-'));
    PageShell shell = new PageShell(REPOSITORY, Files.createDirectories(folder), address);
    return Stream.concat(
        page.blocks().stream()
            .filter(Block::isScript)
            .map(
                block ->
                    DynamicTest.dynamicTest(
                        block.place() + " prints its screen", () -> run(block, shell, check))),
        Stream.of(DynamicTest.dynamicTest("the node of the page ends", shell::stopNode)));
  }

  private static void checkSpans(Page page, CommandCheck check) {
    List<String> faults = new ArrayList<>();
    page.spans().stream()
        .filter(span -> CommandCheck.concerns(span.text()))
        .forEach(
            span ->
                check
                    .fault(span.text())
                    .ifPresent(
                        fault ->
                            faults.add(
                                page.name()
                                    + ":"
                                    + span.line()
                                    + " "
                                    + span.text()
                                    + ": "
                                    + fault)));
    page.blocks().stream()
        .filter(Block::hidesCommands)
        .forEach(block -> faults.add(block.place() + " has commands: make it console or sh"));
    assertEquals(List.of(), faults);
  }

  private static void run(Block block, PageShell shell, CommandCheck check) throws Exception {
    if (block.condition("only").isPresent()) {
      checkOnly(block, check);
      return;
    }
    Optional<String> skipped = block.condition("skip");
    assumeTrue(skipped.isEmpty(), () -> block.place() + " is not run: " + skipped.orElseThrow());
    String user = System.getProperty("user.name").equals("root") ? "root" : "user";
    String wanted = block.condition("as").orElse(user);
    assumeTrue(
        wanted.equals(user), () -> block.place() + " is for " + wanted + ", this is " + user);
    Map<String, String> environment =
        block.conditions("with").stream()
            .map(each -> each.split("=", 2))
            .collect(Collectors.toMap(each -> each[0], each -> each[1]));
    try {
      runCommands(block, shell, environment);
    } catch (Throwable failure) {
      // Stops the node, since the next block expects the machine in the state that the page
      // describes.
      try {
        shell.stopNode();
      } catch (Exception | AssertionError second) {
        failure.addSuppressed(second);
      }
      throw failure;
    }
  }

  private static void runCommands(Block block, PageShell shell, Map<String, String> environment)
      throws Exception {
    for (String before : block.conditions("before")) {
      shell.run(before, environment).requireSuccess(block.place() + " before it: " + before);
    }
    List<Block.Command> commands = block.commands();
    for (Block.Command command : commands) {
      int code = command == commands.getLast() ? block.exitCode() : 0;
      Finished finished = shell.run(command.text(), environment, block.missingPrograms());
      compare(block, command, code, finished, shell);
    }
  }

  private static void checkOnly(Block block, CommandCheck check) {
    List<String> faults = new ArrayList<>();
    block.commands().stream()
        .map(Block.Command::text)
        .filter(CommandCheck::concerns)
        .forEach(text -> check.fault(text).ifPresent(fault -> faults.add(text + ": " + fault)));
    assertEquals(List.of(), faults, block.place());
  }

  private static void compare(
      Block block, Block.Command command, int code, Finished finished, PageShell shell) {
    List<String> printed = shell.screen(finished);
    String all = String.join("\n", printed);
    assertEquals(
        code, finished.code(), block.place() + " exit code of " + command.text() + "\n" + all);
    UnaryOperator<String> indent = text -> text.indent(2);
    if (block.language().equals("console") && !Screen.matches(command.screen(), printed)) {
      throw new AssertionError(
          "%s shows for %s%n%sbut the machine printed%n%s"
              .formatted(
                  block.place(),
                  command.text(),
                  indent.apply(String.join("\n", command.screen())),
                  indent.apply(all)));
    }
  }
}
