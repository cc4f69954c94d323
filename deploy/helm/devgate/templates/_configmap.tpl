{{- define "devgate.configmap" -}}
{{- $policy := .Values.policy | default dict }}
{{- if not $policy.existingConfigMap }}
{{- if not (without (values ($policy.files | default dict)) nil "") }}
{{- $of := ternary (printf "groups.%s." .Group) "" (ne .Group "") }}
{{- fail (printf "%spolicy.files: there is none, and devgate starts nowhere without a policy; set one, or policy.existingConfigMap" $of) }}
{{- end }}
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ include "devgate.policy" . }}
  namespace: {{ .Release.Namespace }}
  labels:
    {{- include "devgate.labels" . | nindent 4 }}
data:
  {{- range $name, $text := $policy.files }}
  {{- if $text }}
  {{- toYaml (dict $name $text) | nindent 2 }}
  {{- end }}
  {{- end }}
{{- end }}
{{- end }}
