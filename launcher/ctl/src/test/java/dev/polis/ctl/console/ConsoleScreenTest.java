package dev.polis.ctl.console;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import dev.polis.fixtures.Await;
import dev.polis.logtree.LogEntry;
import dev.polis.logtree.LogPayload;
import dev.polis.logtree.Severity;
import dev.polis.pki.RecoveryKey;
import java.io.ByteArrayOutputStream;
import java.io.IOError;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Clock;
import java.time.Instant;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Predicate;
import org.jline.terminal.Attributes;
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
  private final AtomicInteger askers = new AtomicInteger();
  private final CountDownLatch never = new CountDownLatch(1);
  private Memory terminal;
  private ConsoleScreen console;
  private FutureTask<Void> page;
  private volatile Clock clock = Clock.systemUTC();
  private volatile boolean diskHangs;
  private volatile boolean fails;
  private volatile ConsoleFacts facts = new ConsoleFacts.Silence("the node starts");

  /** Writes what the page draws to the screen in memory. */
  private final class Drawn extends ByteArrayOutputStream {
    @Override
    public synchronized void flush() {
      screen.write(toString(StandardCharsets.UTF_8));
      reset();
    }
  }

  /** A terminal whose programs can fail. */
  private static final class Memory extends LineDisciplineTerminal {
    private volatile boolean sizeFails;
    private volatile boolean attributesFail;

    Memory(OutputStream drawn) throws IOException {
      super("test", "ansi", drawn, StandardCharsets.UTF_8);
    }

    @Override
    public Size getSize() {
      if (sizeFails) {
        throw new IOError(new IOException("stty cannot be started"));
      }
      return super.getSize();
    }

    @Override
    public void setAttributes(Attributes attributes) {
      if (attributesFail) {
        throw new IOError(new IOException("stty cannot be started"));
      }
      super.setAttributes(attributes);
    }
  }

  /** A node whose log has one line for each part, and which then waits. */
  private final class Node implements ConsoleNode {
    @Override
    public String name() {
      if (diskHangs) {
        hang();
      }
      return "metropolis-0a";
    }

    @Override
    public String address() {
      return "10.0.0.7";
    }

    @Override
    public ConsoleFacts facts() {
      if (fails) {
        throw new IllegalStateException("QuestionDefect");
      }
      return facts;
    }

    private void hang() {
      askers.incrementAndGet();
      try {
        never.await();
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      } finally {
        askers.decrementAndGet();
      }
    }

    @Override
    public String follow(String part, Predicate<LogEntry> reader) throws InterruptedException {
      if (fails) {
        throw new IllegalStateException("LogDefect");
      }
      String text = "this is the log of [" + part + "]";
      reader.test(
          new LogEntry(
              "root",
              0,
              LogPayload.Leveled.of(Severity.INFO, Clock.systemUTC().instant(), "", text)));
      askers.incrementAndGet();
      try {
        never.await(); // until the page takes another part
      } finally {
        askers.decrementAndGet();
      }
      return "";
    }
  }

  @BeforeEach
  void open() throws IOException {
    terminal = new Memory(new Drawn());
    terminal.setSize(Size.of(COLUMNS, ROWS));
  }

  @AfterEach
  void close() throws Exception {
    if (page != null) {
      page.cancel(true);
    }
    terminal.close();
  }

  /** Reads the present clock of the test. */
  private final Clock now =
      new Clock() {
        @Override
        public ZoneId getZone() {
          return ZoneOffset.UTC;
        }

        @Override
        public Clock withZone(ZoneId zone) {
          return clock.withZone(zone);
        }

        @Override
        public Instant instant() {
          return clock.instant();
        }
      };

  private void show(Optional<Path> recoveryKey, boolean stays) {
    console = new ConsoleScreen(terminal, new Node(), now, recoveryKey, stays);
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
    page.get();
    assertEquals(0, askers.get(), "threads of the page that live on");
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
    press("p");
    awaitShown("log of (consensus");
    press("root.rpc\r");
    awaitShown("this is the log of [root.rpc]");
    press("l");
    awaitShown("s status");
    assertFalse(shown().contains("the disk is full"), this::shown);
    press("s");
    awaitShown("the disk is full");
    press("q");
    awaitEnd();
  }

  @Test
  @DisplayName("no key ends a page that stays")
  void stays() throws Exception {
    show(Optional.empty(), true);
    awaitShown("the node starts");
    for (String key : List.of("q", "\u0003", "r")) {
      press(key);
      facts = new ConsoleFacts.Silence("the answer after " + (int) key.charAt(0));
      awaitShown("the answer after " + (int) key.charAt(0));
    }
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
    press("r");
    awaitShown("0 characters so far");
    press("no key at all\r");
    awaitShown("this is no recovery key");
    assertFalse(Files.exists(file), "a text that is no key was written");
    press("r");
    awaitShown("0 characters so far");
    press("MC4CAQAw");
    awaitShown("8 characters so far");
    assertFalse(console.state().toString().contains("MC4C"), "the state of the page has the key");
    press("\r");
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

  @Test
  @DisplayName("a pasted text is no command: a recovery key is neither echoed nor ends the page")
  void pastedWithoutAQuestion() throws Exception {
    show(Optional.of(folder.resolve("recovery-key.pem")), false);
    awaitShown("r recovery key");
    press("MC4CAQAwqpBQYDKsecret2VuBCIEIl\rq");
    awaitShown("a pasted text is no command");
    assertFalse(page.isDone(), "the page has ended");
    assertFalse(shown().contains("secret"), this::shown);
    press("q");
    awaitEnd();
  }

  @Test
  @DisplayName("Ctrl-C ends the page as a key, so that the terminal is restored")
  void interrupted() throws Exception {
    Attributes before = terminal.getAttributes();
    AtomicBoolean signal = new AtomicBoolean();
    terminal.handle(Signal.INT, _ -> signal.set(true));
    show(Optional.empty(), false);
    awaitShown("the node starts");
    press("\u0003");
    awaitEnd();
    assertFalse(signal.get(), "the signal of Ctrl-C was raised");
    assertEquals(before.toString(), terminal.getAttributes().toString());
  }

  @Test
  @DisplayName("while a question hangs, the page takes keys, and shows the age of its answer")
  void hangs() throws Exception {
    Instant start = Instant.now();
    clock = Clock.fixed(start, ZoneOffset.UTC);
    show(Optional.empty(), false);
    awaitShown("the node starts");
    diskHangs = true;
    Await.until("a question that hangs, beside the log", () -> askers.get() == 2);
    clock = Clock.fixed(start.plusSeconds(12), ZoneOffset.UTC);
    awaitShown("answer of 12 s ago");
    press("l");
    awaitShown("s status");
    press("q");
    awaitEnd();
  }

  @Test
  @DisplayName("a defect of a question is shown in place of the former answer, and asked again")
  void defect() throws Exception {
    fails = true;
    show(Optional.empty(), false);
    awaitShown("QuestionDefect");
    awaitShown("LogDefect");
    fails = false;
    awaitShown("the node starts");
    awaitShown("this is the log of []");
  }

  @Test
  @DisplayName("a size that cannot be read leaves the former one, and attributes end the page")
  void programsFail() throws Exception {
    show(Optional.empty(), false);
    awaitShown("the node starts");
    terminal.sizeFails = true;
    terminal.raise(Signal.WINCH);
    facts = new ConsoleFacts.Silence("the disk is full");
    awaitShown("the disk is full");
    terminal.attributesFail = true;
    press("q");
    awaitEnd();
  }
}
