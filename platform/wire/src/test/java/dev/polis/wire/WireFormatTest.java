package dev.polis.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.DescriptorProtos.MethodOptions;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.EnumDescriptor;
import com.google.protobuf.Descriptors.EnumValueDescriptor;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Descriptors.FileDescriptor;
import com.google.protobuf.Descriptors.MethodDescriptor;
import com.google.protobuf.Descriptors.ServiceDescriptor;
import dev.polis.wire.abloader.Abloader;
import dev.polis.wire.api.Aaa;
import dev.polis.wire.api.Configuration;
import dev.polis.wire.api.Debug;
import dev.polis.wire.api.ManagementOuterClass;
import dev.polis.wire.audit.AuditOuterClass;
import dev.polis.wire.cluster.AttestationOuterClass;
import dev.polis.wire.cluster.Ca;
import dev.polis.wire.cluster.CertificatesOuterClass;
import dev.polis.wire.cluster.ChangesOuterClass;
import dev.polis.wire.cluster.EtcdOuterClass;
import dev.polis.wire.cluster.MembershipOuterClass;
import dev.polis.wire.cluster.OperatorsOuterClass;
import dev.polis.wire.cluster.Owner;
import dev.polis.wire.cluster.Plugins;
import dev.polis.wire.cluster.Pluginset;
import dev.polis.wire.cluster.Tickets;
import dev.polis.wire.common.Common;
import dev.polis.wire.curator.Api;
import dev.polis.wire.curator.stored.Lock;
import dev.polis.wire.curator.stored.Storage;
import dev.polis.wire.debug.DebugOuterClass;
import dev.polis.wire.ext.Authorization;
import dev.polis.wire.ext.AuthorizationOuterClass;
import dev.polis.wire.ext.Permission;
import dev.polis.wire.health.HealthOuterClass;
import dev.polis.wire.images.Images;
import dev.polis.wire.manifest.ManifestOuterClass;
import dev.polis.wire.options.Options;
import dev.polis.wire.plugins.PluginsOuterClass;
import dev.polis.wire.recovery.RecoveryOuterClass;
import dev.polis.wire.roles.Roles;
import dev.polis.wire.runtime.RuntimeOuterClass;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/**
 * Compares the wire format with a list of all names and numbers that other programs rely on. The
 * list is the contract; its lines only change with the contract.
 */
class WireFormatTest {
  private static final List<FileDescriptor> FILES =
      List.of(
          ManagementOuterClass.getDescriptor(),
          Aaa.getDescriptor(),
          Configuration.getDescriptor(),
          Debug.getDescriptor(),
          Common.getDescriptor(),
          Api.getDescriptor(),
          Storage.getDescriptor(),
          Lock.getDescriptor(),
          AuthorizationOuterClass.getDescriptor(),
          dev.polis.wire.sealed.Private.getDescriptor(),
          dev.polis.wire.logtree.Logtree.getDescriptor(),
          dev.polis.wire.net.NetOuterClass.getDescriptor(),
          dev.polis.wire.tpm.Tpm.getDescriptor(),
          dev.polis.wire.version.Spec.getDescriptor(),
          Abloader.getDescriptor(),
          Options.getDescriptor(),
          dev.polis.wire.storage.Storage.getDescriptor(),
          PluginsOuterClass.getDescriptor(),
          ManifestOuterClass.getDescriptor(),
          DebugOuterClass.getDescriptor(),
          HealthOuterClass.getDescriptor(),
          EtcdOuterClass.getDescriptor(),
          AttestationOuterClass.getDescriptor(),
          MembershipOuterClass.getDescriptor(),
          Tickets.getDescriptor(),
          Ca.getDescriptor(),
          CertificatesOuterClass.getDescriptor(),
          Owner.getDescriptor(),
          OperatorsOuterClass.getDescriptor(),
          ChangesOuterClass.getDescriptor(),
          Plugins.getDescriptor(),
          Pluginset.getDescriptor(),
          Roles.getDescriptor(),
          RecoveryOuterClass.getDescriptor(),
          Images.getDescriptor(),
          RuntimeOuterClass.getDescriptor(),
          dev.polis.wire.system.System.getDescriptor(),
          AuditOuterClass.getDescriptor());

  @Test
  @DisplayName("every name and number is the one on which other programs rely")
  void namesAndNumbers() {
    assertEquals(String.join("\n", contract()), String.join("\n", describe()));
  }

  @Test
  @DisplayName("every enum value of the reference system has its name and number here")
  void enumValuesOfTheReferenceSystem() {
    List<String> ours = describe();
    List<String> missing = new ArrayList<>();
    int values = 0;
    for (String line : lines("reference-enums.txt")) {
      String type = line.substring(0, line.indexOf(':'));
      for (String value : line.substring(line.indexOf(':') + 1).split(",")) {
        String[] nameAndNumber = value.strip().split(" ");
        String wanted = "enum %s %s = %s".formatted(type, nameAndNumber[0], nameAndNumber[1]);
        values++;
        if (!ours.contains(wanted)) {
          missing.add(wanted);
        }
      }
    }
    assertEquals(List.of(), missing, "values that a client of the reference system does not find");
    assertEquals(99, values, "the list of the reference system was read to its end");
  }

  private static List<String> contract() {
    return lines("wire-format.txt");
  }

  private static List<String> lines(String resource) {
    try (InputStream list = WireFormatTest.class.getResourceAsStream(resource)) {
      return new String(list.readAllBytes(), StandardCharsets.UTF_8)
          .lines()
          .filter(line -> !line.isBlank() && !line.startsWith("#"))
          .toList();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static List<String> describe() {
    List<String> lines = new ArrayList<>();
    for (FileDescriptor file : FILES) {
      file.getServices().forEach(service -> service(service, lines));
      file.getMessageTypes().forEach(message -> message(message, lines));
      file.getEnumTypes().forEach(type -> constants(type, lines));
      file.getExtensions()
          .forEach(
              option ->
                  lines.add(
                      "option %s on %s = %d"
                          .formatted(
                              option.getFullName(),
                              option.getContainingType().getFullName(),
                              option.getNumber())));
    }
    lines.sort(null);
    return lines;
  }

  private static void service(ServiceDescriptor service, List<String> lines) {
    for (MethodDescriptor method : service.getMethods()) {
      lines.add(
          "rpc %s/%s(%s%s) %s%s: %s"
              .formatted(
                  service.getFullName(),
                  method.getName(),
                  method.isClientStreaming() ? "stream " : "",
                  method.getInputType().getName(),
                  method.isServerStreaming() ? "stream " : "",
                  method.getOutputType().getName(),
                  rule(method)));
    }
  }

  private static String rule(MethodDescriptor method) {
    MethodOptions options = method.getOptions();
    if (!options.hasExtension(AuthorizationOuterClass.authorization)) {
      return "NO RULE";
    }
    Authorization rule = options.getExtension(AuthorizationOuterClass.authorization);
    List<String> need = rule.getNeedList().stream().map(Permission::name).toList();
    return rule.getAllowUnauthenticated()
        ? "unauthenticated"
        : need.isEmpty() ? "authenticated" : String.join(",", need);
  }

  private static void message(Descriptor message, List<String> lines) {
    lines.add("message " + message.getFullName());
    for (FieldDescriptor field : message.getFields()) {
      lines.add(
          "field %s %s%s = %d"
              .formatted(
                  field.getFullName(),
                  field.isRepeated() ? "repeated " : "",
                  type(field),
                  field.getNumber()));
    }
    message.getNestedTypes().forEach(nested -> message(nested, lines));
    message.getEnumTypes().forEach(type -> constants(type, lines));
  }

  private static String type(FieldDescriptor field) {
    return switch (field.getType()) {
      case MESSAGE -> field.getMessageType().getFullName();
      case ENUM -> field.getEnumType().getFullName();
      default -> field.getType().name().toLowerCase(java.util.Locale.ROOT);
    };
  }

  private static void constants(EnumDescriptor type, List<String> lines) {
    for (EnumValueDescriptor constant : type.getValues()) {
      lines.add(
          "enum %s %s = %d"
              .formatted(type.getFullName(), constant.getName(), constant.getNumber()));
    }
  }

  @Test
  @DisplayName("every method states its allowed callers")
  void everyMethodHasARule() {
    assertFalse(
        describe().stream().anyMatch(line -> line.endsWith("NO RULE")),
        "no caller may call a method without a rule");
  }

  @Test
  @DisplayName("this test checks every file of the wire format")
  void nothingIsForgotten() throws IOException {
    try (Stream<Path> files = Files.walk(Path.of("src/main/proto"))) {
      List<String> written =
          files
              .filter(file -> file.toString().endsWith(".proto"))
              .map(file -> Path.of("src/main/proto").relativize(file).toString())
              .sorted()
              .toList();
      assertEquals(written, FILES.stream().map(FileDescriptor::getName).sorted().toList());
    }
  }

  @Test
  @DisplayName("every message, field, method and constant is explained")
  void everythingIsExplained() throws IOException {
    Pattern declares =
        Pattern.compile(
            "\\s*(message|enum|service|rpc|oneof|(optional |repeated )?[\\w.]+ \\w+ =|[A-Z0-9_]+ =).*");
    try (Stream<Path> files = Files.walk(Path.of("src/main/proto"))) {
      for (Path file : files.filter(each -> each.toString().endsWith(".proto")).toList()) {
        List<String> lines = Files.readAllLines(file);
        for (int i = 1; i < lines.size(); i++) {
          String line = lines.get(i);
          if (declares.matcher(line).matches()
              && !line.startsWith("option ")
              && !line.stripLeading().startsWith("option ")) {
            assertTrue(
                lines.get(i - 1).stripLeading().startsWith("//"),
                file + ":" + (i + 1) + " is not explained: " + line.strip());
          }
        }
      }
    }
  }
}
