package dev.polis.ctl.console;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import dev.polis.fixtures.Await;
import dev.polis.logtree.LogEntry;
import dev.polis.logtree.LogPayload;
import dev.polis.logtree.Severity;
import dev.polis.pki.RecoveryKey;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Clock;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.function.Predicate;
import org.jline.terminal.Size;
import org.jline.terminal.Terminal.Signal;
import org.jline.terminal.impl.LineDisciplineTerminal;
import org.jline.utils.ScreenTerminal;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Presses keys at a page on a terminal in memory, and reads its screen. */
final class ConsoleScreenTest {

  private static final int COLUMNS = 100;
  private static final int ROWS = 24;

  @TempDir Path folder;

  private final ScreenTerminal screen = new ScreenTerminal(COLUMNS, ROWS);
  private LineDisciplineTerminal terminal;
  private FutureTask<Void> page;
  private volatile ConsoleFacts facts = new ConsoleFacts.Silence("the node starts");

  /** Writes what the page draws to the screen in memory. */
  private final class Drawn extends ByteArrayOutputStream {
    @Override
    public synchronized void flush() {
      screen.write(toString(StandardCharsets.UTF_8));
      reset();
    }
  }

  /** A node whose log has one line for each part, and which then waits. */
  private final class Node implements ConsoleNode {
    @Override
    public String name() {
      return "metropolis-0a";
    }

    @Override
    public String address() {
      return "10.0.0.7";
    }

    @Override
    public ConsoleFacts facts() {
      return facts;
    }

    @Override
    public String follow(String part, Predicate<LogEntry> reader) throws InterruptedException {
      String text = "this is the log of [" + part + "]";
      reader.test(
          new LogEntry(
              "root",
              0,
              LogPayload.Leveled.of(Severity.INFO, Clock.systemUTC().instant(), "", text)));
      new CountDownLatch(1).await(); // until the page takes another part
      return "";
    }
  }

  @BeforeEach
  void open() throws IOException {
    terminal = new LineDisciplineTerminal("test", "ansi", new Drawn(), StandardCharsets.UTF_8);
    terminal.setSize(Size.of(COLUMNS, ROWS));
  }

  @AfterEach
  void close() throws Exception {
    if (page != null) {
      page.cancel(true);
    }
    terminal.close();
  }

  private void show(Optional<Path> recoveryKey, boolean stays) {
    ConsoleScreen console =
        new ConsoleScreen(terminal, new Node(), Clock.systemUTC(), recoveryKey, stays);
    page =
        new FutureTask<>(
            () -> {
              console.run();
              return null;
            });
    Thread.ofVirtual().start(page);
  }

  private void press(String keys) throws IOException {
    terminal.processInputBytes(keys.getBytes(StandardCharsets.UTF_8));
  }

  private String shown() {
    return screen.toString();
  }

  private void awaitShown(String text) throws Exception {
    Await.until("\"" + text + "\" on the screen", () -> shown().contains(text));
  }

  private void awaitEnd() throws Exception {
    Await.until("the end of the page", page::isDone);
  }

  @Test
  @DisplayName("the page follows the node, shows the log of a part that is typed, and ends with q")
  void keys() throws Exception {
    show(Optional.empty(), false);
    awaitShown("the node starts");
    awaitShown("this is the log of []");
    facts = new ConsoleFacts.Silence("the disk is full");
    awaitShown("the disk is full");
    press("p");
    awaitShown("log of (consensus");
    press("curatorx\u007f\r");
    awaitShown("this is the log of [root.curator]");
    press("proot.rpc\r");
    awaitShown("this is the log of [root.rpc]");
    press("l");
    awaitShown("s status");
    assertFalse(shown().contains("the disk is full"), this::shown);
    press("s");
    awaitShown("the disk is full");
    press("q");
    awaitEnd();
    page.get();
  }

  @Test
  @DisplayName("no key ends a page that stays")
  void stays() throws Exception {
    show(Optional.empty(), true);
    awaitShown("the node starts");
    press("q\u0003r");
    facts = new ConsoleFacts.Silence("the next answer");
    awaitShown("the next answer");
    assertFalse(page.isDone(), "the page has ended");
    assertFalse(shown().contains("recovery key"), this::shown);
  }

  @Test
  @DisplayName(
      "a recovery key that is pasted as a whole is written for its owner alone; another text is refused")
  void recoveryKey() throws Exception {
    Path file = folder.resolve("recovery-key.pem");
    show(Optional.of(file), false);
    awaitShown("r recovery key");
    press("rno key at all\r");
    awaitShown("this is no recovery key");
    assertFalse(Files.exists(file), "a text that is no key was written");
    press("rMC4CAQAw\r");
    awaitShown("the private key is none of X25519");
    assertFalse(Files.exists(file), "a text that is no key was written");
    String pem = RecoveryKey.generate();
    press("r");
    awaitShown("0 characters so far");
    press(pem.replace("\n", "\r"));
    awaitShown("written for the next start of the node");
    assertEquals(pem.strip(), Files.readString(file).strip());
    assertEquals("rw-------", PosixFilePermissions.toString(Files.getPosixFilePermissions(file)));
  }

  @Test
  @DisplayName("Escape leaves a question, also the escape of a cursor key")
  void escape() throws Exception {
    show(Optional.empty(), false);
    awaitShown("the node starts");
    press("p");
    awaitShown("log of (consensus");
    press("abc\u001b[A");
    awaitShown("p log of a part");
    press("q");
    awaitEnd();
  }

  @Test
  @DisplayName("the page takes the new size of its terminal")
  void resized() throws Exception {
    show(Optional.empty(), false);
    awaitShown("the node starts");
    screen.setSize(Size.of(60, 12));
    terminal.setSize(Size.of(60, 12));
    terminal.raise(Signal.WINCH);
    Await.until(
        "the keys in the last of twelve lines",
        () -> {
          String[] lines = shown().split("\n");
          return lines.length >= 12 && lines[11].contains("q quit");
        });
  }

  @Test
  @DisplayName("a terminal that is gone ends the page, and nothing stays behind")
  void gone() throws Exception {
    show(Optional.empty(), true);
    awaitShown("the node starts");
    terminal.close();
    awaitEnd();
  }
}
