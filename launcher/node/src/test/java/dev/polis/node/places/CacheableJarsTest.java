package dev.polis.node.places;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.OutputStream;
import java.lang.classfile.ClassFile;
import java.lang.classfile.TypeKind;
import java.lang.constant.ClassDesc;
import java.lang.constant.ConstantDescs;
import java.lang.constant.MethodTypeDesc;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import java.util.zip.ZipOutputStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Rewrites a signed jar with a class file of Java 5. */
class CacheableJarsTest {
  private static final String OLD = "example/Old.class";
  private static final String SIGNATURE = "META-INF/KEY.SF";
  private static final FileTime TIME = FileTime.fromMillis(1_700_000_000_000L);

  @TempDir Path folder;
  private Path jar;

  @BeforeEach
  void pack() throws IOException {
    jar = folder.resolve("old.jar");
    try (OutputStream file = Files.newOutputStream(jar);
        ZipOutputStream zip = new ZipOutputStream(file)) {
      put(
          zip,
          "META-INF/MANIFEST.MF",
          text(
              "Manifest-Version: 1.0\r\nTool: a test\r\n\r\nName: "
                  + OLD
                  + "\r\nSHA-256-Digest: AAAA\r\n\r\n"));
      put(zip, SIGNATURE, text("Signature-Version: 1.0\r\n\r\n"));
      put(zip, OLD, old());
      put(zip, "example/words.txt", text("words"));
    }
    Files.setLastModifiedTime(jar, TIME);
  }

  private static void put(ZipOutputStream zip, String name, byte[] content) throws IOException {
    zip.putNextEntry(new ZipEntry(name));
    zip.write(content);
  }

  private static byte[] text(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  /**
   * Makes a static method larger(int, int), whose branch needs a stack map in newer class files.
   */
  private static byte[] old() {
    return ClassFile.of(ClassFile.StackMapsOption.DROP_STACK_MAPS)
        .build(
            ClassDesc.of("example.Old"),
            type ->
                type.withVersion(ClassFile.JAVA_5_VERSION, 0)
                    .withFlags(ClassFile.ACC_PUBLIC)
                    .withMethodBody(
                        "larger",
                        MethodTypeDesc.of(
                            ConstantDescs.CD_int, ConstantDescs.CD_int, ConstantDescs.CD_int),
                        ClassFile.ACC_PUBLIC | ClassFile.ACC_STATIC,
                        code -> {
                          var second = code.newLabel();
                          code.iload(0).iload(1).if_icmplt(second);
                          code.iload(0).return_(TypeKind.INT);
                          code.labelBinding(second).iload(1).return_(TypeKind.INT);
                        }));
  }

  @Test
  void classesOfAnOldLibraryGetANewerVersionAndDoWhatTheyDid() throws Exception {
    assertTrue(CacheableJars.rewrite(jar));

    try (ZipFile now = new ZipFile(jar.toFile())) {
      byte[] type = now.getInputStream(now.getEntry(OLD)).readAllBytes();
      assertEquals(ClassFile.JAVA_8_VERSION, ClassFile.of().parse(type).majorVersion());
    }
    try (URLClassLoader loader = new URLClassLoader(new URL[] {jar.toUri().toURL()}, null)) {
      var larger = loader.loadClass("example.Old").getMethod("larger", int.class, int.class);
      assertEquals(3, larger.invoke(null, 3, 2));
      assertEquals(4, larger.invoke(null, 3, 4));
    }
  }

  @Test
  void theSignatureIsLeftOutWithItsDigests_andAllElseStays() throws Exception {
    assertTrue(CacheableJars.rewrite(jar));

    try (ZipFile now = new ZipFile(jar.toFile())) {
      assertNull(now.getEntry(SIGNATURE));
      String manifest = content(now, "META-INF/MANIFEST.MF");
      assertTrue(manifest.contains("Tool: a test"), manifest);
      assertFalse(manifest.contains("Digest"), manifest);
      assertEquals("words", content(now, "example/words.txt"));
    }
  }

  @Test
  void aJarThatIsReadyStaysAsItIs() throws Exception {
    assertTrue(CacheableJars.rewrite(jar));
    byte[] first = Files.readAllBytes(jar);

    assertFalse(CacheableJars.rewrite(jar));

    assertEquals(TIME, Files.getLastModifiedTime(jar));
    assertArrayEquals(first, Files.readAllBytes(jar));
  }

  private static String content(ZipFile zip, String name) throws IOException {
    return new String(
        zip.getInputStream(zip.getEntry(name)).readAllBytes(), StandardCharsets.UTF_8);
  }
}
