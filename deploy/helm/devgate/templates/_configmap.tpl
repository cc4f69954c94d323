{{- define "devgate.configmap" -}}
{{- $policy := .Values.policy | default dict }}
{{- if not $policy.existingConfigMap }}
{{- $files := dict }}
{{- range $name, $text := $policy.files }}
{{- if $text }}
{{- $_ := set $files $name (include "devgate.mirrored" (list $ $text)) }}
{{- end }}
{{- end }}
{{- if and .Group (not $files) }}
{{- fail (printf "groups.%s.policy.files: there is none, and a group is made for its policy; set one, or policy.existingConfigMap" .Group) }}
{{- end }}
{{- if not $files }}
{{- $files = dict "none.yaml" "# No policy was given: nothing is served.\napiVersion: devgate.dev/v1alpha1\nkind: Policy\nplugins: {}\n" }}
{{- end }}
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ include "devgate.policy" . }}
  namespace: {{ .Release.Namespace }}
  labels:
    {{- include "devgate.labels" . | nindent 4 }}
{{- if eq ($policy.rollout | default "live") "pods" }}
immutable: true
{{- end }}
data:
  {{- toYaml $files | nindent 2 }}
{{- end }}
{{- end }}

{{- /* The five newest of before: nodes that a rollout has not come to have one still, and `rollout undo` names another. In the release, so that
Helm leaves them, and finds them at a rollback. */}}
{{- define "devgate.configmaps.before" -}}
{{- if eq ((.Values.policy | default dict).rollout | default "live") "pods" }}
{{- $name := include "devgate.policy" . }}
{{- $is := printf "^%s-policy-[0-9a-f]{10}$" (include "devgate.workload" . | regexQuoteMeta) }}
{{- $found := dict }}
{{- range (lookup "v1" "ConfigMap" .Release.Namespace "").items }}
{{- if and .immutable (ne .metadata.name $name) (regexMatch $is .metadata.name) }}
{{- $_ := set $found (printf "%s %s" .metadata.creationTimestamp .metadata.name) . }}
{{- end }}
{{- end }}
{{- range $at, $key := keys $found | sortAlpha | reverse }}
{{- if lt $at 5 }}
{{- with get $found $key }}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .metadata.name }}
  namespace: {{ .metadata.namespace }}
  labels:
    {{- toYaml .metadata.labels | nindent 4 }}
immutable: true
data:
  {{- toYaml .data | nindent 2 }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
